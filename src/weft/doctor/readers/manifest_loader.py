"""YAML as PyYAML reads it, of a depth that manifests have."""

import yaml
from yaml.scanner import ScannerError

MOST_DEPTH = 100


class ManifestLoader(yaml.SafeLoader):
    """Refuses brackets in brackets early: for each token PyYAML goes over all that are open."""

    def fetch_flow_collection_start(self, TokenClass: type[yaml.Token]) -> None:  # noqa: N803
        """One bracket more."""
        if self.flow_level >= MOST_DEPTH:
            raise ScannerError(None, None, "nested too deeply", self.get_mark())
        super().fetch_flow_collection_start(TokenClass)
