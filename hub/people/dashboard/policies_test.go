package dashboard

import (
	"testing"

	. "github.com/onsi/gomega"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
)

func TestBoundsOfReplicasAreSaidInWords(t *testing.T) {
	t.Parallel()
	p := &policyv1alpha1.Placement{ReplicaScheduling: &policyv1alpha1.ReplicaSchedulingStrategy{
		ReplicaSchedulingType: policyv1alpha1.Divided, ReplicaDivisionPreference: policyv1alpha1.Weighted,
		ReplicaBounds: []policyv1alpha1.ClusterReplicaBounds{
			{TargetCluster: policyv1alpha1.ClusterAffinity{ClusterNames: []string{"berlin"}}, MinReplicas: 1, MaxReplicas: new(int32(4))},
			{TargetCluster: policyv1alpha1.ClusterAffinity{ExcludeClusters: []string{"berlin"}}, MinReplicas: 2},
		},
	}}
	NewWithT(t).Expect(placement(p)).To(Equal("every cluster; replicas divided, weighted; 1 to 4 replicas in berlin; 2 replicas or more in every cluster, but not berlin"))
}
