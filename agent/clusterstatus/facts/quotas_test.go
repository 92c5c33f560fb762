package facts_test

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"fairlead.dev/agent/clusterstatus/facts"
	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

// bounding returns a ResourceQuota; of lists a resource name, its hard limit and what is used, in turn.
func bounding(namespace, name string, of ...string) *corev1.ResourceQuota {
	q := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	q.Status.Hard, q.Status.Used = corev1.ResourceList{}, corev1.ResourceList{}
	for i := 0; i < len(of); i += 3 {
		q.Status.Hard[corev1.ResourceName(of[i])] = resource.MustParse(of[i+1])
		if of[i+2] != "" {
			q.Status.Used[corev1.ResourceName(of[i])] = resource.MustParse(of[i+2])
		}
	}
	return q
}

func scoped(q *corev1.ResourceQuota, scopes ...corev1.ScopedResourceSelectorRequirement) *corev1.ResourceQuota {
	q.Spec.ScopeSelector = &corev1.ScopeSelector{MatchExpressions: scopes}
	return q
}

func TestQuotas(t *testing.T) {
	t.Parallel()
	priority := corev1.ScopedResourceSelectorRequirement{
		ScopeName: corev1.ResourceQuotaScopePriorityClass, Operator: corev1.ScopeSelectorOpIn, Values: []string{"low", "high"},
	}
	besteffort := corev1.ScopedResourceSelectorRequirement{ScopeName: corev1.ResourceQuotaScopeBestEffort, Operator: corev1.ScopeSelectorOpExists}
	terminating := bounding("shop", "jobs", "pods", "1", "0")
	terminating.Spec.Scopes = []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeTerminating}
	anyClass := bounding("shop", "classes", "pods", "1", "0")
	anyClass.Spec.Scopes = []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopePriorityClass}
	tests := map[string]struct {
		quotas []*corev1.ResourceQuota
		want   string
	}{
		"none": {want: ""},
		"what is left of what pods request": {
			quotas: []*corev1.ResourceQuota{bounding("shop", "all", "requests.cpu", "2", "500m", "memory", "4Gi", "1Gi", "requests.example.com/gpu", "3", "1", "pods", "10", "4")},
			want:   "shop: cpu=1500m example.com/gpu=2 memory=3Gi pods=6",
		},
		"what pods do not request is no bound": {
			quotas: []*corev1.ResourceQuota{bounding("shop", "all", "limits.cpu", "2", "0", "services", "1", "1", "count/jobs.batch", "3", "1", "requests.storage", "1Gi", "0",
				"gold.storageclass.storage.k8s.io/requests.storage", "1Gi", "0")},
		},
		"more used than allowed leaves nothing": {quotas: []*corev1.ResourceQuota{bounding("shop", "all", "cpu", "1", "3")}, want: "shop: cpu=0"},
		"what was not counted yet is not known": {quotas: []*corev1.ResourceQuota{bounding("shop", "all", "cpu", "1", "")}},
		"the tightest of several counts": {
			quotas: []*corev1.ResourceQuota{bounding("shop", "a", "cpu", "4", "1", "count/pods", "9", "2"), bounding("shop", "b", "requests.cpu", "2", "1", "cpu", "8", "1", "pods", "9", "1")},
			want:   "shop: cpu=1 pods=7",
		},
		"some priority classes": {
			quotas: []*corev1.ResourceQuota{bounding("shop", "all", "pods", "9", "2"), scoped(bounding("shop", "low", "pods", "1", "0"), priority)},
			want:   "shop: pods=7; shop[In high,low]: pods=1",
		},
		"any priority class": {quotas: []*corev1.ResourceQuota{anyClass}, want: "shop[Exists ]: pods=1"},
		"a priority class that cannot be is none that the hub takes": {quotas: []*corev1.ResourceQuota{scoped(bounding("shop", "x", "pods", "1", "0"), corev1.ScopedResourceSelectorRequirement{
			ScopeName: corev1.ResourceQuotaScopePriorityClass, Operator: corev1.ScopeSelectorOpIn, Values: []string{strings.Repeat("x", 254)},
		})}},
		"a text that is no name either": {quotas: []*corev1.ResourceQuota{scoped(bounding("shop", "x", "pods", "1", "0"), corev1.ScopedResourceSelectorRequirement{
			ScopeName: corev1.ResourceQuotaScopePriorityClass, Operator: corev1.ScopeSelectorOpIn, Values: []string{"high", "${PRIORITY}"},
		})}},
		"other scopes are not the hub's": {quotas: []*corev1.ResourceQuota{terminating, scoped(bounding("shop", "x", "pods", "1", "0"), besteffort, priority)}},
		"namespaces without content from the hub are none of its business": {
			quotas: []*corev1.ResourceQuota{bounding("private", "all", "pods", "9", "2"), bounding("web", "all", "pods", "9", "3"), bounding("shop", "all", "pods", "9", "2")},
			want:   "shop: pods=7; web: pods=6",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := facts.NewQuotas()
			for _, one := range tt.quotas {
				q.Put(one)
			}
			NewWithT(t).Expect(reportText(q.Report(sets.New("shop", "web")))).To(Equal(tt.want))
		})
	}
}

func TestAReportOfQuotasIsBounded(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	q, all := facts.NewQuotas(), sets.New[string]()
	for i := range 1000 {
		one := bounding(fmt.Sprintf("ns-%03d", i), "all")
		for j := range 100 {
			name := corev1.ResourceName(fmt.Sprintf("example.com/r%d", j))
			one.Status.Hard[name], one.Status.Used[name] = resource.MustParse("1"), resource.MustParse("0")
		}
		q.Put(one)
		all.Insert(one.Namespace)
	}
	report := q.Report(all)
	g.Expect(report).To(HaveLen(256))
	g.Expect(report[255].Namespace).To(Equal("ns-255"))
	g.Expect(report[0].Free).To(HaveLen(32))
	g.Expect(q.Report(all)).To(Equal(report), "it is always the same")

	for i := range 1000 {
		q.Drop(bounding(fmt.Sprintf("ns-%03d", i), "all"))
	}
	g.Expect(q.Any()).To(BeFalse())
	g.Expect(q.Report(all)).To(BeNil())
}

// reportText is a report in short.
func reportText(report []clusterv1alpha1.NamespaceQuota) string {
	text := ""
	for i, one := range report {
		if i > 0 {
			text += "; "
		}
		text += one.Namespace
		if s := one.PriorityClass; s != nil {
			text += "[" + string(s.Operator) + " "
			for j, v := range s.Values {
				if j > 0 {
					text += ","
				}
				text += v
			}
			text += "]"
		}
		text += ":"
		for _, name := range []corev1.ResourceName{"cpu", "example.com/gpu", "memory", "pods"} {
			if free, ok := one.Free[name]; ok {
				text += fmt.Sprintf(" %s=%s", name, free.String())
			}
		}
	}
	return text
}
