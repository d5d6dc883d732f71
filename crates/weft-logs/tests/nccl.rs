//! Lines of NCCL and RCCL, version by version, and what each says.
//!
//! SOURCE: formats in the read-only data of NVIDIA's libraries 2.18.3 and 2.32.3 (which
//! tests/oracle/test_nccl_log.py fills in again), and in NVIDIA/nccl at the tags between.

use crate::{Case, cases, facts, read};
use serde_json::{Value, json};

const PLUGINS: &str = "
# 2.14 to 2.20
NET/Plugin : Plugin load (libnccl-net-ofi.so) returned 2 : libfabric.so.1: cannot open
=> plugin_missing | libnccl-net-ofi.so | libfabric.so.1: cannot open
NET/Plugin : No plugin found (libnccl-net.so), using internal implementation
=> plugin_missing | libnccl-net.so | not found
# 2.21 to 2.23
NET/Plugin: Plugin load returned 2 : x.so: no such file : when loading libnccl-net-x.so
=> plugin_missing | libnccl-net-x.so | x.so: no such file
# 2.24 to 2.27
NET/Plugin: Could not find: ofi libnccl-net-ofi.so. Using internal network plugin.
=> plugin_missing | libnccl-net-ofi.so | not found
# 2.28 on
NET/Plugin: Could not find: libnccl-net.so
=> plugin_missing | libnccl-net.so | not found
NET/Plugin: libnccl-net-ofi.so: libfabric.so.1: cannot open shared object file
=> plugin_missing | libnccl-net-ofi.so | libfabric.so.1: cannot open shared object file
External network plugin /x.so is unsupported
=> plugin_refused | /x.so
Failed to initialize NET plugin AWS Libfabric
=> plugin_failed | AWS Libfabric
# all
Plugin name set by env to libnccl-net-ofi.so
=> plugin_asked | libnccl-net-ofi.so
Plugin Path : /opt/hpcx/lib/libnccl-net.so
=> plugin_asked | /opt/hpcx/lib/libnccl-net.so
NET/Plugin: Loaded net plugin AWS Libfabric (v6)
=> plugin_loaded | net | AWS Libfabric | v6
NET/Plugin: Loaded coll plugin SHARP (v5)
=> plugin_loaded | collnet | SHARP | v5
TUNER/Plugin: Using ofi_tuner (v4)
=> plugin_loaded | tuner | ofi_tuner | v4
TUNER/Plugin: Could not find: ofi libnccl-tuner-ofi.so. Using internal tuner plugin.
=> fallback | tuner plug-in not found: libnccl-tuner-ofi.so
TUNER/Plugin: libnccl-tuner-ofi.so: libcudart.so.12: cannot open shared object file
=> fallback | tuner plug-in not found: libnccl-tuner-ofi.so
P2P plugin IBext_v8
=> plugin_loaded | net | IBext_v8 |
NET/Plugin: Failed to find ncclNetPlugin_v6 symbol.
=> plugin_symbol | ncclNetPlugin_v6
";

const NETWORKS: &str = "
Using network AWS Libfabric
=> network | AWS Libfabric
NET/IB : No device found.
=> no_device | NET/IB
Failed to open libibverbs.so[.1]
=> no_device | libibverbs
NET/OFI Selected Provider is efa (found 32 nics)
=> provider | efa | 32
NET/OFI Selected provider is cxi, fabric is cxi (found 4 nics)
=> provider | cxi | 4
NET/IB : GPU Direct RDMA Enabled for HCA 3 'mlx5_3'
=> gpu_direct | NET/IB | 3 | mlx5_3 | on |
NET/AWS Libfabric : GPU Direct RDMA Disabled for HCA 1 'rdmap1'
=> gpu_direct | NET/AWS Libfabric | 1 | rdmap1 | off |
GPU Direct RDMA Disabled for GPU 7000 / HCA 0 (distance 4 > 3)
=> gpu_direct |  | 0 |  | off | distance 4 > 3
Could not open XML topology file /opt/x.xml : No such file or directory
=> topology_missing | /opt/x.xml | No such file or directory
Communicator has 1 nodes which is less than CollNet node threshold 2, disabling CollNet
=> collnet_off | Communicator has 1 nodes which is less than CollNet node threshold 2, disabling \
CollNet
SHARP: Group size:1 is less than threshold:2. fallback to non-sharp
=> collnet_off | SHARP: Group size:1 is less than threshold:2. fallback to non-sharp
NET/IB : SHARP coll init error: Cannot connect to SHARP daemon(-4)
=> collnet_off | NET/IB : SHARP coll init error: Cannot connect to SHARP daemon(-4)
Could not find a path for pattern 4, falling back to simple order
=> fallback | Could not find a path for pattern 4, falling back to simple order
CollNet is not supported or fails to initialize, ignoring NCCL_ALGO=COLLNET
=> fallback | CollNet is not supported or fails to initialize, ignoring NCCL_ALGO=COLLNET
";

const CHANNELS: &str = "
Channel 00/0 : 0[7000] -> 8[7000] [send] via NET/IB/0/GDRDMA
=> channel | NET/IB | 0 | GDRDMA |  | send
Channel 03/1 : 9[1] -> 0[0] [receive] via NET/IBext_v8/10(4)/GDRDMA(PCI)/Shared
=> channel | NET/IBext_v8 | 10 | GDRDMA | PXN | receive
Channel 00/0 : 0[0] -> 8[0] [send] via NET/AWS Libfabric/0
=> channel | NET/AWS Libfabric | 0 |  |  | send
Channel 00/0 : 0[0] -> 1[1] via P2P/IPC/read
=> channel | P2P/IPC |  |  |  |
Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM
=> channel | P2P/CUMEM |  |  |  |
Channel 00/0 : 0[0] -> 1[1] via P2P/direct pointer
=> channel | P2P/direct pointer |  |  |  |
Channel 00/0 : 0[0] -> 1[1] via P2P/indirect/3[3]
=> channel | P2P/indirect |  |  |  |
Channel 00 : 2[2] -> 1[1] via SHM/direct/direct
=> channel | SHM |  |  |  |
Channel 00 : 2[2] -> 1[1] via SHM/direct
=> channel | SHM |  |  |  |
CollNet 00/1 : 3 [send] via COLLNET/SHARP/0/GDRDMA
=> channel | COLLNET/SHARP | 0 | GDRDMA |  | send
comm:0x2bc1f840, nRanks:2, nNodes:1, coll channels:2 collnet channels:3, nvls channels:0, p2p \
channels:4, p2p channels per peer:5
=> channels | 2 | 3 | 0 | 4
Channel 00/0 : 0[3000] -> 1[d000] via P2P/IPC comm 0x2bc1f840 nRanks 02
=> channel | P2P/IPC |  |  |  |
Channel 00/0 : 0[3000] -> 1[d000] [send] via NET/Socket/0 comm 0x2bc1f840 nRanks 02
=> channel | NET/Socket | 0 |  |  | send
Connected all rings, use ring PXN 0 GDR 1
=> connected | all rings
rank 3 Connected CollNet
=> connected | CollNet
rank 3 Connected CollNet comm 0x2bc1f840 nRanks 02
=> connected | CollNet
Connected NVLS tree
=> connected | NVLS tree
16 coll channels, 8 collnet channels, 4 nvls channels, 32 p2p channels, 4 p2p channels per peer
=> channels | 16 | 8 | 4 | 32
16 coll channels, 0 nvls channels, 16 p2p channels, 2 p2p channels per peer
=> channels | 16 |  | 0 | 16
NVLS multicast support is not available on dev 0
=> nvls | off
NVLS multicast support is available on dev 0, transport FABRIC, symmetric multimem yes
=> nvls | on
AllReduce: 1048576 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..15}
=> algorithm | AllReduce | RING | SIMPLE
4096 Bytes -> Algo 0 proto 0 time 12.5
=> algorithm |  | TREE | LL
";

const COMMUNICATORS: &str = "
comm 0x7f rank 3 nranks 16 cudaDev 3 busId 1b000 commId 0x5f1 - Init COMPLETE
=> communicator | 0x5f1 | 16 | COMPLETE
ncclCommInitRankConfig comm 0x7f rank 3 nranks 16 cudaDev 3 nvmlDev 3 busId 1b000 commId 0x5f1 - \
Init START
=> communicator | 0x5f1 | 16 | START
comm 0x7f rank 3 nRanks 16 nNodes 2 localRanks 8 localRank 3 MNNVL 0
=> place | 16 | 2 | 8
NCCL version 2.27.5+cuda12.9
=> version | NCCL | 2.27.5+cuda12.9
NCCL version 2.32.3 compiled with CUDA 12.9
=> version | NCCL | 2.32.3+cuda12.9
RCCL version : 2.27.7-HEAD:0d2c4fd
=> version | RCCL | 2.27.7-HEAD:0d2c4fd
NCCL_IB_TIMEOUT set by environment to 22.
=> echo | NCCL_IB_TIMEOUT | 22
NCCL_SOCKET_IFNAME set by environment to eth0
=> echo | NCCL_SOCKET_IFNAME | eth0
NCCL_IB_HCA set to mlx5_0
=> echo | NCCL_IB_HCA | mlx5_0
NET/IB: NCCL_IB_RAIL_POLICY set by environment to x
=> echo | NCCL_IB_RAIL_POLICY | x
Invalid value 99999999999999999999 for NCCL_BUFFSIZE, using default -2.
=> refused | NCCL_BUFFSIZE | 99999999999999999999
NET/OFI Setting NCCL_NVLS_CHUNKSIZE to 512KiB
=> set_by_plugin | NCCL_NVLS_CHUNKSIZE | 512KiB
NET/OFI Initializing aws-ofi-nccl 1.12.1-aws
=> version | aws-ofi-nccl | 1.12.1-aws
NET/OFI Could not disable CUDA API usage for HMEM, disabling GDR
=> gpu_direct | NET/OFI |  |  | off | Could not disable CUDA API usage for HMEM, disabling GDR
NET/OFI Setting NCCL_TOPO_FILE environment variable to /proc/self/fd/150
=> set_by_plugin | NCCL_TOPO_FILE | /proc/self/fd/150
";

fn all() -> impl Iterator<Item = Case> {
    [PLUGINS, NETWORKS, CHANNELS, COMMUNICATORS].into_iter().flat_map(cases)
}

/// All lines, with a mark.
pub(crate) fn lines() -> impl Iterator<Item = String> {
    all().map(|(line, ..)| format!("node-1:10:20 [0] NCCL INFO {line}"))
}

pub(crate) fn with_words(facts: &Value, kind: &str) -> Vec<Value> {
    facts["facts"]
        .as_array()
        .expect("facts")
        .iter()
        .filter(|fact| fact["kind"] == kind)
        .map(|fact| fact["words"].clone())
        .collect()
}

#[test]
fn each_line_says_what_it_says_whatever_launchers_put_before_it() {
    for (line, kind, words) in all() {
        for before in ["", "3: ", "[1,3]<stdout>:", "[2026-11-21 02:36:20] ", "\x1b[32m", "x\r"] {
            for end in ["\n", "\r\n", "\x1b[0m\n", ""] {
                let text = format!("{before}node-1:10:20 [0] NCCL INFO {line}{end}");
                let document = facts(&text);
                assert_eq!(with_words(&document, kind), [json!(words)], "{text:?}");
                assert_eq!(document["speakers"][0]["host"], "node-1", "{text:?}");
            }
        }
    }
}

#[test]
fn plugins_that_no_one_asked_for_are_not_missed() {
    let document = facts(
        "h:1:2 [0] NCCL INFO TUNER/Plugin: Could not find: libnccl-tuner.so\nh:1:2 [0] NCCL INFO \
         ENV/Plugin: Could not find: libnccl-env.so\n",
    );
    assert_eq!(document["facts"], json!([]));
}

#[test]
fn devices_are_read_one_by_one() {
    let document = facts(
        "h:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB/SHARP [1]mlx5_1:1/RoCE [RO]; OOB \
         eth0:10.0.0.1<0>\nh:1:2 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.1<0> \
         [1]veth1:fe80::1%veth1<0>\nh:1:2 [0] NCCL INFO NET/IB : Using [RO]; OOB \
         eth0:10.0.0.1<0>\n",
    );
    let expected = [
        json!(["NET/IB", "0", "mlx5_0:1", "IB", "sharp"]),
        json!(["NET/IB", "1", "mlx5_1:1", "RoCE", ""]),
        json!(["NET/Socket", "0", "eth0", "TCP", ""]),
        json!(["NET/Socket", "1", "veth1", "TCP", ""]),
    ];
    assert_eq!(with_words(&document, "nic"), expected);
}

#[test]
fn a_warning_names_where_it_comes_from() {
    let document = facts(
        "\n[2026-11-23 03:00:26] vm:7:8 [0] misc/cudawrap.cc:329 (initOnceFunc) NCCL WARN Cuda \
         failure 'x'\n\nvm:7:8 [0] init.cc:1631 NCCL WARN Cuda failure 'y'\n",
    );
    let expected = [
        json!(["NCCL", "misc/cudawrap.cc:329", "Cuda failure 'x'"]),
        json!(["NCCL", "init.cc:1631", "Cuda failure 'y'"]),
    ];
    assert_eq!(with_words(&document, "warning"), expected);
}

/// The head of libnccl 2.32.3's lines at level ATTN, before and behind the place.
fn attention(place: &str, text: &str) -> String {
    format!("\n[2026-11-28 20:57:40] vm:7:8 [0] {place} NCCL ATTN {text}\n")
}

#[test]
fn a_known_line_at_attention_is_no_warning() {
    for (text, kind, words) in [
        ("Failed to initialize NET plugin AWS Libfabric", "plugin_failed", &["AWS Libfabric"][..]),
        ("External network plugin /x.so is unsupported", "plugin_refused", &["/x.so"]),
        ("Invalid value x for NCCL_ALGO, using default 2.", "refused", &["NCCL_ALGO", "x"]),
    ] {
        for place in ["plugin/net.cc:229 (ncclNetPluginInit)", "plugin/net.cc:229"] {
            let document = facts(&attention(place, text));
            assert_eq!(with_words(&document, kind), [json!(words)], "{text}");
            assert_eq!(with_words(&document, "warning"), [] as [Value; 0], "{text}");
            assert_eq!(document["speakers"][0]["host"], "vm", "{text}");
        }
    }
}

#[test]
fn another_line_at_attention_is_a_warning_with_its_place() {
    let text = "Socket magic mismatch from 10.0.0.2<7> (peer 0x1 != expected 0x2), discarding";
    let document = facts(&attention("misc/crypt.cc:710 (ncclCryptAcceptHello)", text));
    assert_eq!(with_words(&document, "warning"), [json!(["NCCL", "misc/crypt.cc:710", text])]);
}

#[test]
fn versions_stand_alone_on_a_line() {
    let document =
        facts("[1,0]<stdout>:NCCL version 2.12.7+cuda11.4\nNCCL version 2.18.3+cuda12.2\n");
    let expected = [json!(["NCCL", "2.12.7+cuda11.4"]), json!(["NCCL", "2.18.3+cuda12.2"])];
    assert_eq!(with_words(&document, "version"), expected);
    let ray = "(EngineCore pid=742) (Worker pid=927) HIP version  : 7.0.51831-a3e329ad8\n";
    assert_eq!(with_words(&facts(ray), "version"), [json!(["HIP", "7.0.51831-a3e329ad8"])]);
    let talk = "NCCL library is too old. This application was compiled with NCCL version 2.1\n";
    assert_eq!(facts(talk)["facts"], json!([]));
}

#[test]
fn equal_facts_are_one_with_all_who_said_it() {
    let text: String =
        (0..1000).map(|n| format!("h{}:1:{n} [0] NCCL INFO Using network IB\n", n % 200)).collect();
    let document = facts(&text);
    assert_eq!(document["speakers"].as_array().expect("speakers").len(), 200);
    let expected = json!([{
        "kind": "network", "words": ["IB"], "n": 1000, "first": [0, 1], "by": [[0, 199, 5]]
    }]);
    assert_eq!(document["facts"], expected);
}

#[test]
fn of_a_torn_line_the_last_message_counts() {
    let document = facts(
        "a:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NEb:3:4 [1] NCCL INFO Using \
         network IB\n",
    );
    assert_eq!(document["sources"][0]["n_torn"], 1);
    assert_eq!(with_words(&document, "network"), [json!(["IB"])]);
    assert_eq!(with_words(&document, "channel"), [] as [Value; 0]);
}

#[test]
fn the_largest_communicator_names_the_rank() {
    let line = |rank: u32, n: u32| {
        format!(
            "h:1:2 [5] NCCL INFO comm 0x1 rank {rank} nranks {n} busId 9 commId 0x{n} - Init \
             START\n"
        )
    };
    let document = facts(&[line(0, 2), line(13, 16), line(1, 8)].concat());
    assert_eq!(
        (&document["speakers"][0]["rank"], &document["speakers"][0]["n_ranks"]),
        (&json!(13), &json!(16))
    );
}

#[test]
fn words_that_steer_a_terminal_do_not_get_out() {
    let document = facts("h:1:2 [0] NCCL INFO Using network a\x07b\u{9b}31mc\x1fd\n");
    assert_eq!(with_words(&document, "network"), [json!(["a b 31mc d"])]);
}

#[test]
fn compressed_files_are_refused_with_what_unpacks_them() {
    let error = read(b"\x1f\x8b\x08\x00").expect_err("compressed");
    assert!(error.to_string().contains("zcat"), "{error}");
}

#[test]
fn different_facts_have_an_end() {
    let text: String =
        (0..300_000).map(|n| format!("h:1:2 [0] NCCL INFO Using network {n}\n")).collect();
    let document = facts(&text);
    assert_eq!(document["facts"].as_array().expect("facts").len(), 1 << 18);
    assert_eq!(document["n_left_out"], 300_000 - (1 << 18));
}

#[test]
fn how_often_each_speaker_said_it_is_counted() {
    let line = |process: usize| format!("h:{process}:1 [0] NCCL INFO Using network IB\n");
    // 500 voices in turn, so that counts are put together in between; the third speaks once more.
    let text: String = (0..1500).map(|n| line(1 + n % 500)).chain([line(3)]).collect();
    let document = facts(&text);
    assert_eq!(document["facts"][0]["by"], json!([[0, 1, 3], [2, 2, 4], [3, 499, 3]]));
}
