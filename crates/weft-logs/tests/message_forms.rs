//! What NCCL said from 2.2 on, what launchers put before it, and failures in other programs' words.
//!
//! SOURCE: posts in NVIDIA/nccl#226, #300, #302, NVIDIA/nccl-tests#15, #188, #227,
//! Mellanox/nv_peer_memory#56, aws/aws-ofi-nccl#24, pytorch/pytorch#118369; names changed.

use crate::nccl::with_words;
use crate::{cases, facts};
use serde_json::{Value, json};

const OLD: &str = "
node-1:21:42 [0] NCCL INFO Ring 00 : 3 -> 4 [send] via NET/Socket/0
=> channel | NET/Socket | 0 |  |  | send
node-1:21:42 [0] NCCL INFO Ring 01 : 155[3d000] -> 157[b2000] via P2P/IPC
=> channel | P2P/IPC |  |  |  |
node-1:21:42 [0] NCCL INFO Ring 00 : 7 -> 8 [send] via NET/AWS Libfabric/0
=> channel | NET/AWS Libfabric | 0 |  |  | send
node-1:21:42 [0] NCCL INFO Channel 00 : 0[100000] -> 1[200000] via direct shared memory
=> channel | SHM |  |  |  |
node-1:21:42 [0] NCCL INFO Bootstrap : Using [0]eth0:10.100.62.64<0> [1]eth1:10.0.0.1<0>
=> bootstrap | eth0 | 10.100.62.64
node-1:21:42 [0] NCCL INFO Bootstrap: Using eno1:10.201.24.89<0>
=> bootstrap | eno1 | 10.201.24.89
node-1:21:42 [0] NCCL INFO NET/Socket : Using [0]ib0:192.168.11.1<0>
=> bootstrap | ib0 | 192.168.11.1
node-1:21:42 [0] INFO NET : Using interface enp3s0:192.168.144.103<0>
=> bootstrap | enp3s0 | 192.168.144.103
node-1:21:42 [0] INFO Using internal Network Socket
=> network | Socket
node-1:21:42 [0] INFO comm 0x7fa42c00a3b0 rank 0 nranks 2
=> communicator |  | 2 | START
node-1:21:42 [0] NCCL INFO comm 0x7fa42c00a3b0 rank 0 nranks 2 - COMPLETE
=> communicator |  | 2 | COMPLETE
node-1:21:42 [0] NCCL INFO comm 0x7f rank 0 nranks 2 cudaDev 0 busId 1000 - Abort COMPLETE
=> communicator |  | 2 | ABORT
node-1:21:42 [0] NCCL INFO comm 0x7f rank 0 nranks 2 cudaDev 0 busId 1000 - Destroy COMPLETE
=> communicator |  | 2 | DESTROY
node-1:21:42 [0] include/socket.h:360 WARN Call to connect failed : Connection timed out
=> warning | NCCL | include/socket.h:360 | Call to connect failed : Connection timed out
node-1:21:42 [1] NCCL INFO GPU/3020 :GPU/3020 (0/5000.0/LOC) CPU/0 (1/12.0/PHB) NET/0 (3/12.0/PHB)
=> network_path | 0
node-1:21:42 [0] NCCL INFO proxy.cc:878 -> 6 [Progress Thread]
=> failed | proxy.cc:878 | 6 | Progress Thread
node-1:21:42 [0] NCCL INFO [proxy.cc:698](http://proxy.cc:698/) -> 6
=> failed | proxy.cc:698 | 6 |
node-1:21:42 [0] NCCL INFO transport/net_socket.cu:118 -> 2
=> failed | transport/net_socket.cu:118 | 2 |
node-1:21:42 [0] NCCL INFO AllReduce: opCount 3 sendbuff 0x1 recvbuff 0x1 count 1 datatype 7
=> collective | AllReduce
[1,0]<stdout>:#  Rank  1 Group  0 Pid   4940 on ai-worker03 device  0 [0x61] NVIDIA L40
=> listed | 1 | ai-worker03
[1,0]<stdout>:#   Rank  0 Pid 117738 on gpu-3 device  0 [0x1b] AMD Instinct MI250X
=> listed | 0 | gpu-3
[E ProcessGroupNCCL.cpp:607] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=5)
=> warning | PyTorch |  | Watchdog caught collective operation timeout: WorkNCCL(SeqNum=5)
ncclRemoteError: A call failed possibly due to a network error
=> warning | NCCL's caller |  | ncclRemoteError: A call failed possibly due to a network error
rank-1: Cuda failure 'initialization error'
=> warning | NCCL's caller |  | Cuda failure 'initialization error'
[a:1:0:1] ib_mlx5_log.c:139  Transport retry count exceeded on mlx5_0:1/IB (synd 0x15 vend 0x81)
=> warning | UCX |  | Transport retry count exceeded on mlx5_0:1/IB (synd 0x15 vend 0x81)
libfabric:85:1::core:core:fi_getinfo_():1392<warn> fi_getinfo: provider efa output empty list
=> warning | libfabric |  | fi_getinfo: provider efa output empty list
";

#[test]
fn old_and_other_forms_are_read() {
    for (line, kind, words) in cases(OLD) {
        assert_eq!(with_words(&facts(line), kind), [json!(words)], "{line}");
    }
}

#[test]
fn what_stands_before_a_message_is_no_part_of_it() {
    for before in [
        "> ",
        "> > ",
        "`",
        "  | 2025-05-16T16:39:51.208-07:00 | ",
        "(RayWorkerWrapper pid=248, ip=10.1.160.68) ",
        "[pod/train-worker-1/pytorch] ",
        "worker-0 | ",
        "[155] ",
        "2019-06-02T16:13:44.884Z: [1,12]<stdout>:",
        "{\"log\":\"",
    ] {
        let document = facts(&format!("{before}node-1:21:42 [0] NCCL INFO Using network IB\n"));
        assert_eq!(document["speakers"][0]["host"], "node-1", "{before}");
        assert_eq!(with_words(&document, "network"), [json!(["IB"])], "{before}");
    }
    let wrapped =
        "{\"log\":\"node-1:21:42 [0] NCCL INFO Using network IB\\n\",\"stream\":\"stdout\"}";
    assert_eq!(with_words(&facts(wrapped), "network"), [json!(["IB"])]);
}

#[test]
fn lines_of_other_programs_say_nothing() {
    for line in [
        "[2026-11-21 02:36:20] INFO server started",
        "2026-11-21 02:36:20 WARN slow disk",
        "Pid 21 on fire device full",
        "AllReduce: opCount",
        "h:1:2 [0] NCCL INFO Ring 00 : 1 -> 0 -> 1",
        "h:1:2 [0] NCCL INFO x.cc:1 -> 0",
        "h:1:2 [0] NCCL INFO x.cc:1 -> 7",
        "h:1:2 [0] NCCL INFO 0 -> 1",
    ] {
        assert_eq!(facts(line)["facts"], json!([]), "{line}");
    }
}

#[test]
fn a_torn_name_is_no_host() {
    let document = facts("-21:45361:45361 [0] NCCL INFO NET/IB : No device found.\n");
    assert_eq!(document["speakers"], json!([]));
    let hidden = facts("<cluster_name>:919:1150 [0] NCCL INFO Using network IB\n");
    assert_eq!(hidden["speakers"][0]["host"], "cluster_name");
}

#[test]
fn a_path_that_stays_inside_names_no_network() {
    let inside = "h:1:2 [0] NCCL INFO GPU/1000 :GPU/1000 (0/5000.0/LOC) GPU/2000 (2/20.0/NVL)\n";
    assert_eq!(with_words(&facts(inside), "network_path"), [] as [Value; 0]);
}
