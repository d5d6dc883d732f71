"""Forms of secrets: each says whose it is and where that stands, and is searched for quickly."""

import re

import pytest

from weft.catalog.secret_form import SecretForm, password_programs, secret_forms


@pytest.mark.parametrize("form", secret_forms(), ids=lambda form: form.service)
def test_a_form_is_whole(form: SecretForm) -> None:
    assert re.compile(form.pattern)
    assert form.service
    assert form.source
    assert form.marks
    assert all(form.marks)


def test_forms_and_programs_are_named_once() -> None:
    services = [form.service for form in secret_forms()]
    assert len(services) >= 20
    assert len(set(services)) == len(services)
    names = [name for program in password_programs() for name in program.names]
    assert len(set(names)) == len(names)
    assert all(program.options for program in password_programs())
