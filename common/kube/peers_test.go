package kube_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/kube"
	"fairlead.dev/test/filled"
)

// TestPeersAreThoseOfTheGroupsInTheNamespace checks that a cache and a reader without one return the same peers, each
// once.
func TestPeersAreThoseOfTheGroupsInTheNamespace(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	grouped := func(namespace, name, together, apart string) *workv1alpha2.ResourceBinding {
		b := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		if together+apart != "" {
			b.Spec.WorkloadAffinityGroups = &workv1alpha2.WorkloadAffinityGroups{AffinityGroup: together, AntiAffinityGroup: apart}
		}
		return b
	}
	all := []*workv1alpha2.ResourceBinding{
		grouped("shop", "web", "app=a", "rack=a"), grouped("shop", "api", "app=a", ""), grouped("shop", "db", "", "rack=a"),
		grouped("shop", "cache", "app=a", "rack=a"), grouped("shop", "swapped", "rack=a", "app=a"), grouped("shop", "alone", "", ""),
		grouped("shop", "others", "app=b", "rack=b"), grouped("ship", "web", "app=a", "rack=a"), grouped("ship", "api", "app=a", "rack=a"),
	}
	objects := make([]client.Object, len(all))
	for i := range all {
		objects[i] = all[i]
	}
	scheme, err := kube.NewScheme()
	g.Expect(err).NotTo(HaveOccurred())
	for name, reader := range map[string]client.Reader{
		"cache":    filled.New(t, cache.Options{}, objects...).Client,
		"no cache": fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build(),
	} {
		for of, want := range map[*workv1alpha2.ResourceBinding]string{
			all[0]: "[shop/api shop/cache shop/db]", all[1]: "[shop/cache shop/web]", all[2]: "[shop/cache shop/web]",
			all[4]: "[]", all[5]: "[]", all[6]: "[]", all[7]: "[ship/api]",
		} {
			peers, err := kube.ResourceBindings().Peers(t.Context(), reader, of)
			g.Expect(err).NotTo(HaveOccurred())
			got := []string{}
			for _, peer := range peers {
				got = append(got, client.ObjectKeyFromObject(peer).String())
			}
			g.Expect(fmt.Sprint(got)).To(Equal(want), "%s: %s", name, of.Name)
		}
	}
}
