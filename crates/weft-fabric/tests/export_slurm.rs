//! Real slurmctld takes the tree that is exported, and scontrol says the same one.

use crate::common::samples;
use crate::export::generated;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use weft_fabric::export::slurm;
use weft_fabric::node_set::fold;
use weft_fabric::subnet::Subnet;
use weft_fabric::subnet::records::TreeSwitch;

const TOOLS: [&str; 3] = ["munged", "slurmctld", "scontrol"];
/// So long may a daemon take to answer.
const LIMIT: Duration = Duration::from_secs(60);

/// A controller with a key of its own; both daemons and their folder go when this goes.
struct Controller {
    daemons: Vec<Child>,
    folder: PathBuf,
}

impl Controller {
    fn start(tree: &str, hosts: &str, port: u16) -> Controller {
        let name = format!("weft-slurm-{}-{port}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(folder.join("state")).expect("a folder");
        fs::write(folder.join("topology.conf"), tree).expect("a file");
        fs::write(folder.join("slurm.conf"), conf(&folder, hosts, port)).expect("a file");
        let mut controller = Controller { daemons: Vec::new(), folder };
        controller.start_munge();
        let mut command = Command::new("/usr/sbin/slurmctld");
        command.args(["-D", "-f"]).arg(controller.folder.join("slurm.conf"));
        controller.spawn(command);
        controller
    }

    fn start_munge(&mut self) {
        let key = self.folder.join("key");
        fs::write(&key, [7u8; 128]).expect("a key");
        let only_ours = <fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o600);
        fs::set_permissions(&key, only_ours).expect("our file");
        let mut command = Command::new("/usr/sbin/munged");
        command.args(["--foreground", "--force", "--num-threads=1"]);
        for (option, name) in [
            ("key-file", "key"),
            ("socket", "socket"),
            ("pid-file", "pid"),
            ("log-file", "munge.log"),
            ("seed-file", "seed"),
        ] {
            command.arg(format!("--{option}={}", self.folder.join(name).display()));
        }
        self.spawn(command);
    }

    fn spawn(&mut self, mut command: Command) {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.daemons.push(command.spawn().expect("the daemon starts"));
    }

    /// What `scontrol show topology` prints, once the controller answers.
    fn topology(&self) -> String {
        let begun = Instant::now();
        loop {
            let mut command = Command::new("timeout");
            command.args(["10", "scontrol", "show", "topology"]);
            command.env("SLURM_CONF", self.folder.join("slurm.conf"));
            let output = command.output().expect("scontrol runs");
            if output.status.success() {
                return String::from_utf8(output.stdout).expect("UTF-8");
            }
            let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
            assert!(begun.elapsed() < LIMIT, "{log}");
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        for daemon in self.daemons.iter_mut().rev() {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn words_of(program: &str, argument: &str) -> String {
    let output = Command::new(program).arg(argument).output().expect("it runs").stdout;
    String::from_utf8(output).expect("UTF-8").trim().to_owned()
}

fn conf(folder: &Path, hosts: &str, port: u16) -> String {
    let (host, user) = (words_of("uname", "-n"), words_of("id", "-un"));
    let folder = folder.display();
    format!(
        "ClusterName=weft\nSlurmctldHost={host}(127.0.0.1)\nSlurmUser={user}\nSlurmdUser={user}\n\
         AuthType=auth/munge\nAuthInfo=socket={folder}/socket\nCredType=cred/munge\n\
         ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nSwitchType=switch/none\n\
         SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\n\
         JobAcctGatherType=jobacct_gather/none\nSlurmctldPort={port}\n\
         AccountingStorageType=accounting_storage/none\nStateSaveLocation={folder}/state\n\
         SlurmctldPidFile={folder}/ctld.pid\nSlurmctldLogFile={folder}/log\n\
         TopologyPlugin=topology/tree\nNodeName={hosts} NodeAddr=127.0.0.1 CPUs=1\n\
         PartitionName=main Nodes=ALL Default=YES\n"
    )
}

type Lines = BTreeMap<String, (BTreeSet<String>, BTreeSet<String>)>;

fn lines(tree: &[TreeSwitch]) -> Lines {
    let line = |it: &TreeSwitch| {
        let (nodes, switches) = (it.nodes.iter().cloned(), it.switches.iter().cloned());
        (it.name.clone(), (nodes.collect(), switches.collect()))
    };
    tree.iter().map(line).collect()
}

/// Have the controller take the tree, and say it.
fn is_taken(subnet: &Subnet, port: u16) {
    let text = slurm(subnet).text;
    let ours = samples::gathered(&[("topology.conf", text.as_bytes())]).tree;
    let hosts: BTreeSet<&str> =
        ours.iter().flat_map(|it| it.nodes.iter().map(String::as_str)).collect();
    let controller = Controller::start(&text, &fold(hosts), port);
    let topology = controller.topology();
    let theirs = samples::gathered(&[("scontrol", topology.as_bytes())]);
    assert!(theirs.unread.is_empty(), "{:?}", theirs.unread);
    assert_eq!(lines(&theirs.tree), lines(&ours), "{topology}");
}

#[test]
fn slurm_itself_says_the_tree_that_it_was_given() {
    let absent = |tool: &&&str| {
        !["/usr/bin", "/usr/sbin"].iter().any(|folder| Path::new(folder).join(tool).exists())
    };
    if let Some(tool) = TOOLS.iter().find(absent) {
        println!("skipped: no {tool} (Debian: slurmctld slurm-client munge)");
        return;
    }
    let port = 20_000 + (std::process::id() % 20_000) as u16;
    let pods = generated(
        "fat_tree",
        json!({"levels": 3, "nodes": 20, "nodes_per_leaf": 4,
        "leaves_per_pod": 2, "spines_per_pod": 2, "cores_per_spine": 1}),
    );
    is_taken(&pods, port);
    let frontera = json!({"nodes": 8008, "nodes_per_leaf": 44, "directors": 6,
        "cables_per_director": 3, "inside": "boards", "board_ports": 40});
    is_taken(&generated("directors", frontera), port + 1);
    let rails = json!({"levels": 2, "nodes": 70, "hcas_per_node": 8, "nodes_per_unit": 20,
        "spines": 20});
    is_taken(&generated("rails", rails), port + 2);
}
