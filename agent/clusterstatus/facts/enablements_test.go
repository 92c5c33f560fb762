package facts_test

import (
	"testing"

	. "github.com/onsi/gomega"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/agent/clusterstatus/facts"
	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

func group(name string, versions ...apidiscoveryv2.APIVersionDiscovery) apidiscoveryv2.APIGroupDiscovery {
	return apidiscoveryv2.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: name}, Versions: versions}
}

func version(resources ...apidiscoveryv2.APIResourceDiscovery) apidiscoveryv2.APIVersionDiscovery {
	return apidiscoveryv2.APIVersionDiscovery{Version: "v1", Resources: resources, Freshness: apidiscoveryv2.DiscoveryFreshnessCurrent}
}

func found(name, kind string) apidiscoveryv2.APIResourceDiscovery {
	return apidiscoveryv2.APIResourceDiscovery{
		Resource: name, ResponseKind: &metav1.GroupVersionKind{Kind: kind},
		Subresources: []apidiscoveryv2.APISubresourceDiscovery{{Subresource: "status"}},
	}
}

func TestEnablementsAreSortedAndWithoutSubresources(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	got, partial := facts.Enablements(
		group("batch", version(found("jobs", "Job"), found("cronjobs", "CronJob"))),
		group("apps", version(found("deployments", "Deployment"), found("deployments/scale", "Scale"), apidiscoveryv2.APIResourceDiscovery{Resource: "odd"})),
		group("", version(found("pods", "Pod"))),
	)
	g.Expect(partial).To(BeFalse())
	g.Expect(got).To(Equal([]clusterv1alpha1.APIEnablement{
		{GroupVersion: "apps/v1", Resources: []clusterv1alpha1.APIResource{{Name: "deployments", Kind: "Deployment"}}},
		{GroupVersion: "batch/v1", Resources: []clusterv1alpha1.APIResource{{Name: "cronjobs", Kind: "CronJob"}, {Name: "jobs", Kind: "Job"}}},
		{GroupVersion: "v1", Resources: []clusterv1alpha1.APIResource{{Name: "pods", Kind: "Pod"}}},
	}))
}

func TestAGroupThatDoesNotAnswerMakesTheListPartial(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	stale := version()
	stale.Freshness = apidiscoveryv2.DiscoveryFreshnessStale
	list, partial := facts.Enablements(group("metrics.k8s.io", stale))
	g.Expect(partial).To(BeTrue())
	g.Expect(facts.Complete(list, partial)).To(And(
		HaveField("Status", metav1.ConditionFalse), HaveField("Reason", "Partial"),
		HaveField("Message", "might collect partial APIEnablements(1) from the cluster")))
	g.Expect(facts.Complete(list, false)).To(And(HaveField("Status", metav1.ConditionTrue), HaveField("Reason", "Complete")))
	g.Expect(facts.Complete(nil, true)).To(And(HaveField("Status", metav1.ConditionFalse), HaveField("Reason", "Empty")))
}
