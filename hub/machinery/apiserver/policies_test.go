package apiserver

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
)

// TestAnInstallationWaitsUntilEveryKindIsServedWithItsPolicies simulates an API server that learns the schemas one
// group after the other, and the policies last.
func TestAnInstallationWaitsUntilEveryKindIsServedWithItsPolicies(t *testing.T) {
	t.Parallel()
	for name, mutates := range map[string]bool{"one that fills in": true, "one that only refuses": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { comesInForce(t, mutates) })
		})
	}
}

func comesInForce(t *testing.T, mutates bool) {
	t.Helper()
	const tries = 3 // attempts for each kind until it succeeds
	g := NewWithT(t)
	scheme, err := kube.NewScheme()
	g.Expect(err).NotTo(HaveOccurred())
	asked := map[string]int{}
	i := installer{mutates: mutates, hubClient: interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).Build(), interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			g.Expect((&client.CreateOptions{}).ApplyOptions(opts).DryRun).NotTo(BeEmpty())
			kind := fmt.Sprintf("%T", obj)
			if p, ok := obj.(*policyv1alpha1.PropagationPolicy); ok && p.Spec.Preemption != "" {
				if asked["refused"]++; asked["refused"] <= tries {
					return nil
				}
				return errors.New("ValidatingAdmissionPolicy 'propagation-policies.fairlead.dev' denied the request")
			}
			switch asked[kind]++; {
			case asked[kind] == 1:
				obj.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: contract.FieldManagerInstall}})
				return nil // the policy is not in force yet, so that anything is accepted unchanged
			case asked[kind] <= tries:
				return apierrors.NewServiceUnavailable("Resource kind " + kind + " not found")
			}
			fillIn(obj)
			return nil
		},
	})}
	g.Expect(i.awaitPolicies(t.Context())).To(Succeed())
	want := map[string]int{"refused": tries + 1}
	if mutates {
		for _, kind := range []string{"PropagationPolicy", "ClusterPropagationPolicy", "OverridePolicy"} {
			want["*v1alpha1."+kind] = tries + 1
		}
		for _, kind := range []string{"*v1alpha1.Cluster", "*v1alpha1.Work", "*v1alpha2.ResourceBinding", "*v1alpha2.ClusterResourceBinding"} {
			want[kind] = tries + 1
		}
	}
	g.Expect(asked).To(Equal(want))
}

// fillIn changes an object as the mutating policies do.
func fillIn(obj client.Object) {
	switch o := obj.(type) {
	case *policyv1alpha1.PropagationPolicy:
		o.Spec.ResourceSelectors[0].Namespace = o.Namespace
	case *policyv1alpha1.ClusterPropagationPolicy:
		o.Spec.Placement.SpreadConstraints[0].SpreadByField = policyv1alpha1.SpreadByCluster
	case *policyv1alpha1.OverridePolicy:
		o.Spec.ResourceSelectors[0].Namespace = o.Namespace
	case *clusterv1alpha1.Cluster:
		o.Spec.Zones, o.Spec.Zone = []string{o.Spec.Zone}, ""
	default:
		o.SetManagedFields(nil)
	}
}
