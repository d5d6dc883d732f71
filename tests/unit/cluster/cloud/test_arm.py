"""The template's structure: every reference resolves, one placement group, and one way in."""

import json
import re
import subprocess
from ipaddress import ip_network
from pathlib import Path
from typing import Any, get_args

import pytest
from tests.needs import need
from tests.unit.cluster.cloud.arm import complaints, keys, strings
from tests.unit.cluster.cloud.conftest import Planned

from weft.catalog.machine.azure import azure
from weft.cluster.cloud.arm import template
from weft.cluster.cloud.cloud_init import cloud_init
from weft.cluster.cloud.plan import Reach

REACHES = get_args(Reach)
# SOURCE: Microsoft, Set up InfiniBand, Azure documentation (MicrosoftDocs/azure-compute-docs
# 9785197, 2026-09-25).
RDMA_NETWORK = ip_network("172.16.0.0/16")
KINDS_OF_MACHINES = {"jump": 2, "ports": 1}
"""The nodes, and the jump host; each kind has a subnet of its own."""
Json = dict[str, Any]


@pytest.fixture(params=REACHES)
def reach(request: pytest.FixtureRequest) -> Reach:
    found: Reach = request.param
    return found


@pytest.fixture
def document(reach: Reach, planned: Planned) -> Json:
    found: Json = json.loads(template(planned(reach=reach)))
    return found


def of_type(document: Json, kind: str) -> list[Json]:
    return [one for one in document["resources"] if one["type"] == kind]


def scale_set(document: Json) -> Json:
    (found,) = of_type(document, "Microsoft.Compute/virtualMachineScaleSets")
    return found


@pytest.mark.parametrize("reach", REACHES)
@pytest.mark.parametrize("ssh_from", [None, "192.0.2.7/32"])
def test_everything_named_is_there_used_and_waited_for(
    planned: Planned, reach: Reach, ssh_from: str | None
) -> None:
    assert complaints(template(planned(reach=reach, ssh_from=ssh_from))) == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (r'"dependsOn": \[[^\]]*\][^\]]*\],', "", "does not wait for it"),
        ("'weft-network', 'nodes'", "'weft-network', 'node'", "is not there"),
        (r"parameters\('nodeCount'\)", "parameters('count')", "parameters('nodeCount') is not use"),
        (r'"name": "weft-doors"', '"name": "doors"', "not there"),
        ('"apiVersion": "[^"]*",', "", "has no apiVersion"),
        (r"base64\(variables", "base64(variable(s", "no expression"),
        ("singlePlacementGroup", "singlePlacmentGroup", "has no property singlePlacmentGroup"),
    ],
)
def test_a_spoilt_template_is_found_out(planned: Planned, old: str, new: str, said: str) -> None:
    spoilt, n = re.subn(old, new, template(planned()))
    assert n
    assert any(said in complaint for complaint in complaints(spoilt)), complaints(spoilt)


def test_one_placement_group_and_no_machine_too_many(document: Json, planned: Planned) -> None:
    found = scale_set(document)
    properties = found["properties"]
    assert properties["singlePlacementGroup"] is True
    assert properties["platformFaultDomainCount"] == 1
    assert properties["overprovision"] is False
    assert properties["orchestrationMode"] == "Uniform"
    assert found["sku"]["capacity"] == "[parameters('nodeCount')]"
    asked = document["parameters"]
    assert asked["nodeSize"]["defaultValue"] == "Standard_HB120rs_v3"
    assert (asked["nodeCount"]["defaultValue"], asked["nodeCount"]["maxValue"]) == (16, 100)


def test_the_image_is_the_one_for_hpc(document: Json) -> None:
    image = scale_set(document)["properties"]["virtualMachineProfile"]["storageProfile"]
    assert image["imageReference"]["offer"] == "ubuntu-hpc"
    assert image["imageReference"]["publisher"] == "microsoft-dsvm"


def test_keys_are_the_only_way_in(document: Json, reach: Reach) -> None:
    logins = [
        one["properties"].get("virtualMachineProfile", one["properties"])["osProfile"]
        for one in document["resources"]
        if one["type"].startswith("Microsoft.Compute/")
    ]
    assert len(logins) == KINDS_OF_MACHINES[reach]
    for login in logins:
        linux = login["linuxConfiguration"]
        assert linux["disablePasswordAuthentication"] is True
        assert [key["keyData"] for key in linux["ssh"]["publicKeys"]] == [
            "[parameters('sshPublicKey')]"
        ]
    words = {key for key in keys(document) if "password" in key.lower()}
    assert words == {"disablePasswordAuthentication"}
    assert not any("PRIVATE KEY" in text or "someone@" in text for text in strings(document))


def test_one_public_address_and_ssh_from_the_given_network_alone(
    document: Json, reach: Reach
) -> None:
    assert len(of_type(document, "Microsoft.Network/publicIPAddresses")) == 1
    assert "publicIPAddressConfiguration" not in set(keys(document))
    (doors,) = of_type(document, "Microsoft.Network/networkSecurityGroups")
    allowed = [rule["properties"] for rule in doors["properties"]["securityRules"]]
    assert [(rule["sourceAddressPrefix"], rule["destinationPortRange"]) for rule in allowed] == [
        ("[parameters('sshSource')]", "22")
    ]
    (network,) = of_type(document, "Microsoft.Network/virtualNetworks")
    subnets = network["properties"]["subnets"]
    assert len(subnets) == KINDS_OF_MACHINES[reach]
    for subnet in subnets:
        assert "weft-doors" in subnet["properties"]["networkSecurityGroup"]["id"]


def test_who_names_no_network_is_asked_for_it(planned: Planned) -> None:
    asked = json.loads(template(planned(ssh_from=None)))["parameters"]
    assert "defaultValue" not in asked["sshSource"]


def test_networks_keep_off_that_of_infiniband_and_hold_a_placement_group(document: Json) -> None:
    (network,) = of_type(document, "Microsoft.Network/virtualNetworks")
    (whole,) = map(ip_network, network["properties"]["addressSpace"]["addressPrefixes"])
    assert not whole.overlaps(RDMA_NETWORK)
    subnets = {
        one["name"]: ip_network(one["properties"]["addressPrefix"])
        for one in network["properties"]["subnets"]
    }
    assert all(subnet.subnet_of(whole) for subnet in subnets.values())  # type: ignore[arg-type]
    if "jump" in subnets:
        assert not subnets["jump"].overlaps(subnets["nodes"])
    # Azure keeps five addresses of each subnet.
    assert subnets["nodes"].num_addresses - 5 >= azure().group_nodes_on_request.whole


def test_a_port_for_every_node_a_group_may_hold(planned: Planned) -> None:
    document = json.loads(template(planned(reach="ports")))
    (balancer,) = of_type(document, "Microsoft.Network/loadBalancers")
    (pool,) = (one["properties"] for one in balancer["properties"]["inboundNatPools"])
    n_ports = pool["frontendPortRangeEnd"] - pool["frontendPortRangeStart"] + 1
    assert n_ports == azure().group_nodes.whole
    assert pool["backendPort"] == 22


@pytest.mark.parametrize("node", [True, False])
def test_cloud_init_is_what_cloud_init_takes(node: bool, tmp_path: Path) -> None:
    text = cloud_init(node=node)
    assert ("memlock" in text) == node
    assert json.loads(text.removeprefix("#cloud-config\n"))["ssh_pwauth"] is False
    need("cloud-init")
    file = tmp_path / "cloud-init.yaml"
    file.write_text(text)
    argv = ["cloud-init", "schema", "--config-file", str(file)]
    said = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)
    assert said.returncode == 0, said.stdout + said.stderr
    file.write_text(text.replace('"ssh_pwauth": false', '"ssh_pwauth": []'))
    assert subprocess.run(argv, capture_output=True, check=False, timeout=60).returncode != 0


def test_machines_get_the_cloud_init_that_lies_next_to(planned: Planned) -> None:
    document = json.loads(template(planned()))
    assert document["variables"] == {
        "nodeCloudInit": cloud_init(node=True), "jumpCloudInit": cloud_init(node=False),
    }  # fmt: skip
    profile = scale_set(document)["properties"]["virtualMachineProfile"]["osProfile"]
    assert profile["customData"] == "[base64(variables('nodeCloudInit'))]"
