"""The template that Azure Resource Manager deploys: one scale set in one placement group.

SOURCE: Microsoft, template reference of the resource types below, at the versions named here.
"""

import json
from typing import Any

from weft.catalog.machine.azure import Image, azure
from weft.cluster.cloud.cloud_init import cloud_init
from weft.cluster.cloud.plan import FIRST_PORT, Plan

SCHEMA = "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#"
COMPUTE = "2023-09-01"
NETWORK = "2023-09-01"
NETWORK_RANGE = "10.42.0.0/16"
SUBNETS = {"nodes": "10.42.0.0/22", "jump": "10.42.4.0/28"}

Json = dict[str, Any]


def template(plan: Plan) -> str:
    """The whole template as JSON."""
    of_reach = _jump_host(plan) if plan.reach == "jump" else [_load_balancer(plan)]
    clouds = {"nodeCloudInit": cloud_init(node=True)}
    if plan.reach == "jump":
        clouds["jumpCloudInit"] = cloud_init(node=False)
    address = f"reference({_id('Microsoft.Network/publicIPAddresses', f'{plan.name}-address')})"
    document = {
        "$schema": SCHEMA,
        "contentVersion": "1.0.0.0",
        "parameters": _parameters(plan),
        "variables": clouds,
        "resources": [
            _security_group(plan),
            _network(plan),
            _public_address(plan),
            *of_reach,
            _scale_set(plan),
        ],
        "outputs": {"address": {"type": "string", "value": f"[{address}.dnsSettings.fqdn]"}},
    }
    return json.dumps(document, indent=2) + "\n"


def _parameters(plan: Plan) -> Json:
    asked: Json = {} if plan.ssh_from is None else {"defaultValue": plan.ssh_from}
    return {
        "location": _string(
            "The region of everything.", plan.location or "[resourceGroup().location]"
        ),
        "nodeSize": _string("A size with InfiniBand.", plan.size.name),
        "nodeCount": {
            "type": "int",
            "defaultValue": plan.nodes,
            "minValue": 1,
            "maxValue": azure().group_nodes.whole,
            "metadata": {"description": "Nodes; as many as one placement group holds at most."},
        },
        "adminUser": _string("Who logs in.", plan.user),
        "sshPublicKey": _string(
            "The only key that logs in: no machine here knows another one.", plan.key
        ),
        "sshSource": {
            "type": "string",
            **asked,
            "metadata": {"description": "The network that may open ssh, such as 192.0.2.0/24."},
        },
    }


def _string(description: str, default: str) -> Json:
    return {
        "type": "string",
        "defaultValue": default,
        "metadata": {"description": description},
    }


def _security_group(plan: Plan) -> Json:
    """Ssh from the given network; Azure's own rules let in the virtual network and nothing else."""
    rule = {
        "priority": 1000,
        "direction": "Inbound",
        "access": "Allow",
        "protocol": "Tcp",
        "sourceAddressPrefix": "[parameters('sshSource')]",
        "sourcePortRange": "*",
        "destinationAddressPrefix": "*",
        "destinationPortRange": "22",
    }
    return _resource(
        "Microsoft.Network/networkSecurityGroups",
        f"{plan.name}-doors",
        NETWORK,
        {"securityRules": [{"name": "ssh", "properties": rule}]},
    )


def _network(plan: Plan) -> Json:
    doors = ("Microsoft.Network/networkSecurityGroups", f"{plan.name}-doors")
    names = ("nodes", "jump") if plan.reach == "jump" else ("nodes",)
    subnets = [
        {
            "name": name,
            "properties": {
                "addressPrefix": SUBNETS[name],
                "networkSecurityGroup": {"id": f"[{_id(*doors)}]"},
            },
        }
        for name in names
    ]
    return _resource(
        "Microsoft.Network/virtualNetworks",
        f"{plan.name}-network",
        NETWORK,
        {"addressSpace": {"addressPrefixes": [NETWORK_RANGE]}, "subnets": subnets},
        after=[doors],
    )


def _public_address(plan: Plan) -> Json:
    return _resource(
        "Microsoft.Network/publicIPAddresses",
        f"{plan.name}-address",
        NETWORK,
        {
            "publicIPAllocationMethod": "Static",
            "publicIPAddressVersion": "IPv4",
            "dnsSettings": {"domainNameLabel": plan.label},
        },
        sku={"name": "Standard"},
    )


def _jump_host(plan: Plan) -> list[Json]:
    """A small machine with the public address, and its interface."""
    address = ("Microsoft.Network/publicIPAddresses", f"{plan.name}-address")
    network = ("Microsoft.Network/virtualNetworks", f"{plan.name}-network")
    interface = ("Microsoft.Network/networkInterfaces", plan.jump)
    ip = {
        "privateIPAllocationMethod": "Dynamic",
        "publicIPAddress": {"id": f"[{_id(*address)}]"},
        "subnet": {"id": f"[{_subnet_id(plan, 'jump')}]"},
    }
    machine = {
        "hardwareProfile": {"vmSize": azure().jump.size},
        "osProfile": {"computerName": plan.jump, **_login("jumpCloudInit")},
        "storageProfile": _storage(azure().jump),
        "networkProfile": {"networkInterfaces": [{"id": f"[{_id(*interface)}]"}]},
    }
    return [
        _resource(
            *interface,
            NETWORK,
            {"ipConfigurations": [{"name": "ip", "properties": ip}]},
            after=[address, network],
        ),
        _resource(
            "Microsoft.Compute/virtualMachines", plan.jump, COMPUTE, machine, after=[interface]
        ),
    ]


def _load_balancer(plan: Plan) -> Json:
    """A port of the public address for each node, from FIRST_PORT on, in place of a jump host."""
    address = ("Microsoft.Network/publicIPAddresses", f"{plan.name}-address")
    name = f"{plan.name}-ports"
    front = f"resourceId('{_FRONT}', '{name}', 'front')"
    pool = {
        "frontendIPConfiguration": {"id": f"[{front}]"},
        "protocol": "Tcp",
        "frontendPortRangeStart": FIRST_PORT,
        "frontendPortRangeEnd": FIRST_PORT + azure().group_nodes.whole - 1,
        "backendPort": 22,
    }
    return _resource(
        "Microsoft.Network/loadBalancers",
        name,
        NETWORK,
        {
            "frontendIPConfigurations": [
                {
                    "name": "front",
                    "properties": {"publicIPAddress": {"id": f"[{_id(*address)}]"}},
                }
            ],
            "inboundNatPools": [{"name": "ssh", "properties": pool}],
        },
        after=[address],
        sku={"name": "Standard"},
    )


_FRONT = "Microsoft.Network/loadBalancers/frontendIPConfigurations"
_POOL = "Microsoft.Network/loadBalancers/inboundNatPools"


def _scale_set(plan: Plan) -> Json:
    network = ("Microsoft.Network/virtualNetworks", f"{plan.name}-network")
    ip: Json = {"subnet": {"id": f"[{_subnet_id(plan, 'nodes')}]"}, "primary": True}
    after = [network]
    if plan.reach == "ports":
        name = f"{plan.name}-ports"
        ip["loadBalancerInboundNatPools"] = [{"id": f"[resourceId('{_POOL}', '{name}', 'ssh')]"}]
        after.append(("Microsoft.Network/loadBalancers", name))
    interface = {
        "primary": True,
        "enableAcceleratedNetworking": True,
        "ipConfigurations": [{"name": "ip", "properties": ip}],
    }
    return _resource(
        "Microsoft.Compute/virtualMachineScaleSets",
        plan.name,
        COMPUTE,
        {
            "orchestrationMode": "Uniform",
            "singlePlacementGroup": True,
            "platformFaultDomainCount": 1,
            "overprovision": False,
            "upgradePolicy": {"mode": "Manual"},
            "virtualMachineProfile": {
                "osProfile": {"computerNamePrefix": plan.name, **_login("nodeCloudInit")},
                "storageProfile": _storage(azure().image),
                "networkProfile": {
                    "networkInterfaceConfigurations": [{"name": "nic", "properties": interface}]
                },
            },
        },
        after=after,
        sku={
            "name": "[parameters('nodeSize')]",
            "tier": "Standard",
            "capacity": "[parameters('nodeCount')]",
        },
    )


def _login(cloud: str) -> Json:
    keys = "[concat('/home/', parameters('adminUser'), '/.ssh/authorized_keys')]"
    key = {"path": keys, "keyData": "[parameters('sshPublicKey')]"}
    return {
        "adminUsername": "[parameters('adminUser')]",
        "customData": f"[base64(variables('{cloud}'))]",
        "linuxConfiguration": {
            "disablePasswordAuthentication": True,
            "ssh": {"publicKeys": [key]},
        },
    }


def _storage(image: Image) -> Json:
    named = {key: getattr(image, key) for key in ("publisher", "offer", "sku", "version")}
    disk = {
        "createOption": "FromImage",
        "caching": "ReadWrite",
        "managedDisk": {"storageAccountType": "Premium_LRS"},
    }
    return {"imageReference": named, "osDisk": disk}


def _resource(
    kind: str,
    name: str,
    version: str,
    properties: Json,
    *,
    after: list[tuple[str, str]] | None = None,
    sku: Json | None = None,
) -> Json:
    found: Json = {
        "type": kind,
        "apiVersion": version,
        "name": name,
        "location": "[parameters('location')]",
    }
    if sku is not None:
        found["sku"] = sku
    if after:
        found["dependsOn"] = [f"[{_id(*other)}]" for other in after]
    return found | {"properties": properties}


def _id(kind: str, name: str) -> str:
    return f"resourceId('{kind}', '{name}')"


def _subnet_id(plan: Plan, subnet: str) -> str:
    kind = "Microsoft.Network/virtualNetworks/subnets"
    return f"resourceId('{kind}', '{plan.name}-network', '{subnet}')"
