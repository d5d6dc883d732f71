//go:build programs

// Package kubernetes names the programs that `make kubernetes` builds: an API server and its store,
// for tests. go.sum pins their sources.
package kubernetes

import (
	_ "go.etcd.io/etcd/server/v3"
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
)
