package native_test

import (
	"context"
	"encoding/json"
	"math/rand"
	"slices"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/interpreter/native"
)

type object = map[string]any

// made makes an object of a kind from its other fields, which are copied.
func made(apiVersion, kind string, fields object) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(fields)}
	obj.SetAPIVersion(apiVersion)
	obj.SetKind(kind)
	if obj.GetName() == "" {
		obj.SetName("x")
	}
	return obj
}

// parsed is like made, from JSON, as objects come from an API server.
func parsed(text string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON([]byte(text)); err != nil {
		panic(err)
	}
	return obj
}

func item(cluster, status string) workv1alpha2.AggregatedStatusItem {
	out := workv1alpha2.AggregatedStatusItem{ClusterName: cluster}
	if status != "" {
		out.Status = &runtime.RawExtension{Raw: []byte(status)}
	}
	return out
}

// aggregate aggregates the items, and checks what holds for every kind: the order of the items does not matter, the
// template is not modified, and a second aggregation changes nothing and reports so.
func aggregate(g *WithT, template *unstructured.Unstructured, items ...workv1alpha2.AggregatedStatusItem) *unstructured.Unstructured {
	before := template.DeepCopy()
	out, err := native.New().AggregateStatus(context.Background(), template, items)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(template).To(Equal(before), "the template is not changed")

	shuffled := slices.Clone(items)
	rand.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	again, err := native.New().AggregateStatus(context.Background(), template, shuffled)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again.Object).To(BeComparableTo(out.Object), "the order of the items does not matter")

	settled, err := native.New().AggregateStatus(context.Background(), out, items)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(settled).To(BeIdenticalTo(out), "nothing changes any more, and the same object is returned")
	return out
}

// statusOf returns the status of an object as JSON; empty if it has none.
func statusOf(g *WithT, obj *unstructured.Unstructured) string {
	status, ok := obj.Object["status"]
	if !ok {
		return ""
	}
	raw, err := json.Marshal(status)
	g.Expect(err).NotTo(HaveOccurred())
	return string(raw)
}
