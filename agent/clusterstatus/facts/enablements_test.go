package facts_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
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

// TestTheAPIsOfKubernetesHaveRoomFirst has a member with more kinds than a report holds.
func TestTheAPIsOfKubernetesHaveRoomFirst(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	groups := []apidiscoveryv2.APIGroupDiscovery{
		group("", version(found("configmaps", "ConfigMap"))), group("apps", version(found("deployments", "Deployment"))),
		group("storage.k8s.io", version(found("storageclasses", "StorageClass"))),
	}
	for i := range 1000 {
		var kinds []apidiscoveryv2.APIResourceDiscovery
		for j := range 10 {
			kinds = append(kinds, found(fmt.Sprintf("resources%d", j), fmt.Sprintf("Resource%d", j)))
		}
		groups = append(groups, group(fmt.Sprintf("a%03d.example.com", i), version(kinds...)))
	}
	list, partial := facts.Enablements(groups...)
	g.Expect(partial).To(BeTrue())
	var names []string
	for _, e := range list {
		names = append(names, e.GroupVersion)
	}
	g.Expect(names).To(ContainElements("v1", "apps/v1", "storage.k8s.io/v1", "a000.example.com/v1"))
	g.Expect(slices.IsSorted(names)).To(BeTrue())
	g.Expect(len(names)).To(BeNumerically("<", 1000))
}

// What the hub would refuse would take the rest of the report with it.
func TestAPIsBeyondTheLimitsAreLeftOut(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var groups []apidiscoveryv2.APIGroupDiscovery
	for i := range 300 { // as with the providers of three clouds
		var resources []apidiscoveryv2.APIResourceDiscovery
		for j := range 10 {
			resources = append(resources, found(fmt.Sprintf("networkinterfaceattachments%d", j), fmt.Sprintf("NetworkInterfaceAttachment%d", j)))
		}
		groups = append(groups, group(fmt.Sprintf("g%03d.aws.upbound.io", i), version(resources...)))
	}
	all, partial := facts.Enablements(groups...)
	g.Expect(all).To(HaveLen(300))
	g.Expect(partial).To(BeFalse(), "that much is usual")

	groups = append(groups, group("zzz.example.com", version(found(strings.Repeat("x", 200_000), "Kind"), found("things", "<Thing>"), found("things", "Thing"))))
	all, partial = facts.Enablements(groups...)
	g.Expect(partial).To(BeTrue())
	g.Expect(all[300].Resources).To(ConsistOf(clusterv1alpha1.APIResource{Name: "things", Kind: "Thing"}))

	for i := range 6000 {
		groups = append(groups, group(fmt.Sprintf("h%04d.%s.example.com", i, strings.Repeat("x", 50)), version()))
	}
	all, partial = facts.Enablements(groups...)
	g.Expect(partial).To(BeTrue())
	encoded, err := json.Marshal(all)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(len(encoded)).To(BeNumerically("<", 384<<10))
	g.Expect(len(all)).To(BeNumerically(">", 300))
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

// TestListsThatTheSchemaRefusesAreCut has more groups, and a group of more kinds, than a Cluster may list. One list that is too long would have the
// hub refuse the whole report.
func TestListsThatTheSchemaRefusesAreCut(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	const most = 4096
	groups := []apidiscoveryv2.APIGroupDiscovery{group("apps", version(found("deployments", "Deployment")))}
	for i := range most {
		groups = append(groups, group(fmt.Sprintf("g%d.io", i), version()))
	}
	list, partial := facts.Enablements(groups...)
	g.Expect(partial).To(BeTrue())
	g.Expect(list).To(HaveLen(most))
	g.Expect(list).To(ContainElement(HaveField("GroupVersion", "apps/v1")))

	var kinds []apidiscoveryv2.APIResourceDiscovery
	for i := range most + 1 {
		kinds = append(kinds, found(fmt.Sprintf("r%d", i), "K"))
	}
	list, partial = facts.Enablements(group("many.io", version(kinds...)), group("apps", version(found("deployments", "Deployment"))))
	g.Expect(partial).To(BeTrue())
	g.Expect(list).To(ConsistOf(HaveField("GroupVersion", "apps/v1")))
}
