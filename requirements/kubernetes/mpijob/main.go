// Command mpijob reads a manifest as the MPI operator does: into its own types, with no unknown key,
// and by its own rules. It exits with 1, and says why, where the operator would refuse it.
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/kubeflow/mpi-operator/pkg/apis/kubeflow/v2beta1"
	"github.com/kubeflow/mpi-operator/pkg/apis/kubeflow/validation"
	"sigs.k8s.io/yaml"
)

func main() {
	var job v2beta1.MPIJob
	text, err := io.ReadAll(os.Stdin)
	if err == nil {
		err = yaml.UnmarshalStrict(text, &job)
	}
	if err == nil {
		v2beta1.SetDefaults_MPIJob(&job)
		if errs := validation.ValidateMPIJob(&job); len(errs) != 0 {
			err = errs.ToAggregate()
		}
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
