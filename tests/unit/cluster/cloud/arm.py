"""What Azure Resource Manager would refuse in a template, found without it."""

import json
import re
from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]

_CALL = re.compile(r"(parameters|variables)\('([^']+)'\)")
_ID = re.compile(r"resourceId\(([^()]*)\)")
_WORD = re.compile(r"'([^']*)'")
_CHILDREN = {"subnets", "frontendIPConfigurations", "inboundNatPools"}
Id = tuple[str, tuple[str, ...]]

# SOURCE: Azure/bicep-types-az, generated types of Microsoft.Compute and Microsoft.Network: some of
# what `properties` of a resource may hold.
_PROPERTIES = {
    "networkSecurityGroups": "flushConnection securityRules",
    "virtualNetworks": "addressSpace dhcpOptions enableDdosProtection subnets",
    "publicIPAddresses": "dnsSettings ipAddress publicIPAddressVersion publicIPAllocationMethod",
    "networkInterfaces": "enableAcceleratedNetworking ipConfigurations networkSecurityGroup",
    "loadBalancers": "backendAddressPools frontendIPConfigurations inboundNatPools probes",
    "virtualMachines": "hardwareProfile networkProfile osProfile securityProfile storageProfile",
    "virtualMachineScaleSets": "orchestrationMode overprovision platformFaultDomainCount "
    "proximityPlacementGroup singlePlacementGroup upgradePolicy virtualMachineProfile zoneBalance",
}


def strings(value: Any) -> Iterator[str]:
    """Every string of a document."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from strings(one)
    elif isinstance(value, list):
        for one in value:
            yield from strings(one)


def keys(value: Any) -> Iterator[str]:
    """Every key of a document."""
    if isinstance(value, dict):
        yield from value
    for one in value.values() if isinstance(value, dict) else value if type(value) is list else ():
        yield from keys(one)


def ids_in(value: Any) -> set[Id]:
    """The (type, names) of every resourceId in it."""
    found = set()
    for text in strings(value):
        for match in _ID.findall(text if text.startswith("[") else ""):
            kind, *names = _WORD.findall(match)
            found.add((kind, tuple(names)))
    return found


def parent(one: Id) -> Id:
    """Of a part of a resource the resource, else itself."""
    kind, names = one
    return (kind, names) if len(names) == 1 else (kind.rpartition("/")[0], names[:1])


def complaints(text: str) -> list[str]:
    """What is wrong: empty where nothing is."""
    document = json.loads(text)
    resources = {(one["type"], (one["name"],)): one for one in document["resources"]}
    found = [f"two of {one}" for one in resources if len(resources) != len(document["resources"])]
    found += _unbalanced(document)
    found += _names(document, "parameters") + _names(document, "variables")
    for own, one in resources.items():
        found += _strangers(one)
        found += [f"{own} has no {key}" for key in ("apiVersion", "location") if not one.get(key)]
        after = ids_in(one.get("dependsOn", []))
        found += [
            f"{own} waits for {other}: not there" for other in after if other not in resources
        ]
        used = ids_in({key: part for key, part in one.items() if key != "dependsOn"})
        for other in sorted(used):
            found += _unresolved(other, resources)
            if parent(other) not in after | {own}:
                found.append(f"{own} uses {other} and does not wait for it")
    found += [
        f"an output: {complaint}"
        for other in sorted(ids_in(document["outputs"]))
        for complaint in _unresolved(other, resources)
    ]
    return found + _circles(
        {own: ids_in(one.get("dependsOn", [])) for own, one in resources.items()}
    )


def _strangers(resource: Json) -> list[str]:
    kind = resource["type"].rpartition("/")[2]
    known = set(_PROPERTIES[kind].split())
    return [f"{kind} has no property {key}" for key in resource["properties"] if key not in known]


def _unbalanced(document: Json) -> list[str]:
    return [
        f"no expression: {text}"
        for text in strings(document)
        if text.startswith("[")
        and not (text.endswith("]") and text.count("(") == text.count(")") and "'" in text)
        and text != "[resourceGroup().location]"
    ]


def _names(document: Json, kind: str) -> list[str]:
    texts = [text for text in strings(document) if text.startswith("[")]
    used = {name for text in texts for what, name in _CALL.findall(text) if what == kind}
    known = set(document[kind])
    return [f"{kind}('{name}') is not there" for name in used - known] + [
        f"{kind}('{name}') is not used" for name in known - used
    ]


def _unresolved(one: Id, resources: dict[Id, Json]) -> list[str]:
    kind, names = one
    whole = resources.get(parent(one))
    if whole is None or kind.count("/") != len(names):
        return [f"{one} is not there"]
    if len(names) == 1:
        return []
    part = kind.rpartition("/")[2]
    of = {child["name"] for child in whole["properties"].get(part, [])}
    return [] if part in _CHILDREN and names[1] in of else [f"{one} is not there"]


def _circles(after: dict[Id, set[Id]]) -> list[str]:
    done: set[Id] = set()
    while ready := [one for one, others in after.items() if one not in done and others <= done]:
        done.update(ready)
    return [f"{one} waits for itself" for one in after if one not in done]
