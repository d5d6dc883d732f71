//! Lines of the libraries around NCCL: UCX, libfabric, MPI libraries, SHARP, MVAPICH2, HCOLL.
//!
//! SOURCE: UCX 1.13.1 and 1.20.1, libfabric 1.17 and 2.1, Open MPI 4.1.4, MPICH 5.0.2 and Intel MPI
//! 2021.16 printed theirs (tests/oracle/test_mpi_logs.py runs some again); SHARP's and HCOLL's are
//! of logs that users posted; MVAPICH2's format strings are in its sources.

use crate::nccl::with_words;
use crate::{cases, facts};
use serde_json::json;

const CASES: &str = "
[1795405212.230614] [vm:7832 :0]  ucp_context.c:1849 UCX  INFO  Version 1.13.1 (loaded from \
libucp.so.0)
=> version | UCX | 1.13.1
[1795405239.473023] [vm:8478 :0]  ucp_worker.c:1763 UCX  INFO    ep_cfg[1]: tag(tcp/lo)
=> lanes |  | tcp/lo
[1795405215.059447] [vm:7991 :0] ucp_worker.c:1912 UCX  INFO    ucp_context_0 intra-node cfg#1 \
tag(sysv/memory cma/memory)  rma(sysv/memory posix/memory)
=> lanes | intra-node | sysv/memory cma/memory
[1645203303.759862] [host2:43:0]  ucp_worker.c:1877 UCX  INFO  ep_cfg[2]: tag(self/memory0 \
rc_mlx5/mlx5_0:1)
=> lanes |  | self/memory0 rc_mlx5/mlx5_0:1
[1795405215.035266] [vm:7992 :0] parser.c:2364 UCX  INFO  UCX_* env variable: UCX_TLS=rc
=> echo | UCX_TLS | rc
[1795405239.468807] [vm:8479 :0] parser.c:1908 UCX  WARN  unused env variable: UCX_FOO (set \
UCX_WARN_UNUSED_ENV_VARS=n to suppress this warning)
=> unused | UCX_FOO
[1795406952.975845] [vm:9167 :0] parser.c:2355 UCX  WARN  unused environment variable: UCX_FOO \
(maybe: UCX_TLS?)
=> unused | UCX_FOO
[1795405240.086209] [vm:8512 :0] ucp_context.c:1014 UCX  WARN  network device 'mlx5_0:1' is not \
available, please use one or more of: 'eth0'(tcp)
=> warning | UCX | ucp_context.c:1014 | network device 'mlx5_0:1' is not available, please use \
one or more of: 'eth0'(tcp)
libfabric:8801:1795405261::core:core:fi_fabric_():1808<info> Opened fabric: cxi
=> fabric | cxi
libfabric:8801:1795405261::core:core:fi_fabric_():1819<info> Using tcp provider 2.1, \
path:/opt/lib/libtcp-fi.so
=> provider | tcp |
[0] MPI startup(): libfabric provider: verbs;ofi_rxm
=> provider | verbs;ofi_rxm |
[0] MPI startup(): Intel(R) MPI Library, Version 2021.16  Build 20250722 (id: c37a540)
=> version | Intel MPI | 2021.16
==== UCX netmod Capability ====
=> component | netmod | ucx | selected
[vm:08479] select: component ucx selected
=> component | pml | ucx | selected
[vm:08512] select: init returned failure for component ucx
=> component | pml | ucx | failed
[vm:08512] select: init returned failure for component ofi
=> component | mtl | ofi | failed
[vm:24858] select: component ofi selected
=> component | mtl | ofi | selected
[vm:08512] PML ucx cannot be selected
=> component | pml | ucx | refused
[vm:25727] mca: base: components_open: component pml / cm open function failed
=> component | pml | cm | failed
[vm:24623] coll:base:comm_select: selecting       tuned, priority  30, Enabled
=> component | coll | tuned | usable
[vm:08495] select: init of component tcp returned success
=> component | btl | tcp | usable
[gpu34:0:40581 - context.c:867][2025-05-26 15:58:56] INFO sharp_job_id:41   resv_key: \
tree_type:LLT tree_idx:0  treeID:18 caps:0x5 quota:(osts:167)
=> sharp_tree | LLT
[g2f4e7c:0:588 - comm.c:392] INFO [group#:1] group id:0 tree idx:1 tree_type:SAT rail_idx:0 \
group size:4 quota: (osts:64 user_data_per_ost:0)
=> sharp_group | SAT | 4
[C25L18:0:24972 - comm.c:374] ERROR Failed to lock SAT tree(ID:0x40 ret:0x4)
=> sharp_error | comm.c:374 | Failed to lock SAT tree(ID:0x40 ret:0x4)
[snail01:0:3745196 unique id 9370583446459220315][2024-09-24 16:15:29] ERROR Job error in \
sharp_get_job_data_len.
=> sharp_error |  | Job error in sharp_get_job_data_len.
 MVAPICH2-2.3.7 Parameters
=> version | MVAPICH2 | 2.3.7
\tHCA NAME                       : MV2_HCA_MLX_CX_HDR
=> adapter | MV2_HCA_MLX_CX_HDR
\tMV2_IBA_EAGER_THRESHOLD        : 17408
=> echo | MV2_IBA_EAGER_THRESHOLD | 17408
\t - MV2_USE_CMA_COLL_BCAST       : 0
=> echo | MV2_USE_CMA_COLL_BCAST | 0
[LOG_CAT_ML] ml_discover_hierarchy exited with error
=> warning | HCOLL |  | ml_discover_hierarchy exited with error
";

/// All lines.
pub(crate) fn lines() -> impl Iterator<Item = String> {
    cases(CASES).into_iter().map(|(line, ..)| line.to_owned())
}

#[test]
fn each_line_says_what_it_says_whatever_launchers_put_before_it() {
    for (line, kind, words) in cases(CASES) {
        for before in ["", "3: ", "[1,3]<stderr>:"] {
            for end in ["\n", "\r\n", ""] {
                let document = facts(&format!("{before}{line}{end}"));
                assert_eq!(with_words(&document, kind), [json!(words)], "{before}{line}");
            }
        }
    }
}

#[test]
fn several_variables_of_ucx_stand_on_one_line() {
    let document = facts(
        "[1.2] [vm:8479 :0] parser.c:1916 UCX  INFO  UCX_* env variables: UCX_TLS=tcp,self \
         UCX_NET_DEVICES=lo\n",
    );
    let expected = [json!(["UCX_TLS", "tcp,self"]), json!(["UCX_NET_DEVICES", "lo"])];
    assert_eq!(with_words(&document, "echo"), expected);
    assert_eq!(
        (&document["speakers"][0]["host"], &document["speakers"][0]["pid"]),
        (&json!("vm"), &json!("8479"))
    );
}

#[test]
fn several_names_that_ucx_does_not_know_are_separated_from_what_it_proposes() {
    let document = facts(
        "[1.2] [vm:1:0] parser.c:2355 UCX  WARN  unused environment variables: UCX_A (maybe: \
         UCX_TLS?); UCX_B\n[1.2] [vm:1:0] parser.c:2355 UCX  WARN  (set \
         UCX_WARN_UNUSED_ENV_VARS=n to suppress this warning)\n",
    );
    assert_eq!(with_words(&document, "unused"), [json!(["UCX_A"]), json!(["UCX_B"])]);
    assert_eq!(with_words(&document, "warning"), [] as [serde_json::Value; 0]);
}

#[test]
fn what_is_only_registered_or_found_is_not_what_is_used() {
    let document = facts(
        "libfabric:8801:1::core:core:ofi_register_provider():558<info> registering provider: efa\n\
         libfabric:8801:1::core:core:fi_getinfo_():1505<info> Found provider with the highest \
         priority psm2, must_use_util_prov = 0\n",
    );
    assert_eq!(document["facts"], json!([]));
}

#[test]
fn lines_of_other_programs_say_nothing() {
    let document = facts(
        "loss : 0.25 at step 7\n[2026] ERROR no such file\n[a - b] ERROR x\nselected 5 of 9\n\
         [x] select: component y selected\n==== summary ====\nelection\n",
    );
    assert_eq!(document["facts"], json!([]));
}
