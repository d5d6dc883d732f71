//go:build programs

// Package kubernetes names the programs that `make kubernetes` builds: a control plane and the MPI
// operator, for tests. go.sum pins their sources.
package kubernetes

import (
	_ "github.com/kubeflow/mpi-operator/cmd/mpi-operator"
	_ "go.etcd.io/etcd/server/v3"
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kube-controller-manager"
	_ "k8s.io/kubernetes/cmd/kube-scheduler"
)
