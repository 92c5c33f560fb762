package kwok

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

func nodes(count int, zones ...string) Nodes {
	return Nodes{
		Count:  count,
		CPU:    resource.MustParse("8"),
		Memory: resource.MustParse("32Gi"),
		Pods:   resource.MustParse("110"),
		Zones:  zones,
	}
}

func TestMake(t *testing.T) {
	t.Parallel()

	t.Run("zones are dealt out in turn", func(t *testing.T) {
		t.Parallel()
		made := nodes(5, "a", "b").Make()
		if len(made) != 5 {
			t.Fatalf("%d nodes were made, want 5", len(made))
		}
		for i, n := range made {
			if want := []string{"a", "b"}[i%2]; n.Labels[corev1.LabelTopologyZone] != want {
				t.Errorf("zone of %s = %q, want %q", n.Name, n.Labels[corev1.LabelTopologyZone], want)
			}
		}
	})

	t.Run("no region and no zones, no labels", func(t *testing.T) {
		t.Parallel()
		for _, label := range []string{corev1.LabelTopologyZone, corev1.LabelTopologyRegion} {
			if v, ok := nodes(1).Make()[0].Labels[label]; ok {
				t.Errorf("label %s = %q, want none", label, v)
			}
		}
	})

	t.Run("no two nodes share a range of pod addresses", func(t *testing.T) {
		t.Parallel()
		seen := map[string]string{}
		for _, n := range nodes(1000).Make() {
			if other, ok := seen[n.Spec.PodCIDR]; ok {
				t.Fatalf("%s and %s share %s", n.Name, other, n.Spec.PodCIDR)
			}
			seen[n.Spec.PodCIDR] = n.Name
		}
		if len(seen) != 1000 {
			t.Errorf("%d ranges, want 1000", len(seen))
		}
	})
}

func TestEnsure(t *testing.T) {
	t.Parallel()
	foreign := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "mine"}}
	api := fake.NewClientset(foreign)
	ctx := t.Context()
	get := func(name string) (*corev1.Node, error) {
		return api.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	}

	if err := nodes(3, "a").Ensure(ctx, api); err != nil {
		t.Fatal(err)
	}
	labelled, err := get("node-1")
	if err != nil {
		t.Fatal(err)
	}
	labelled.Labels["user"] = "label"
	if _, err := api.CoreV1().Nodes().Update(ctx, labelled, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}

	smaller := nodes(2, "b")
	smaller.CPU = resource.MustParse("4")
	if err := smaller.Ensure(ctx, api); err != nil {
		t.Fatal(err)
	}
	n, err := get("node-1")
	if err != nil {
		t.Fatal(err)
	}
	if got := n.Labels[corev1.LabelTopologyZone]; got != "b" {
		t.Errorf("zone = %q, want the new one", got)
	}
	if n.Labels["user"] != "label" {
		t.Error("a label of the user is gone")
	}
	if got := n.Status.Allocatable.Cpu(); got.String() != "4" {
		t.Errorf("allocatable CPU = %s, want 4", got)
	}
	if _, err := get("node-3"); err == nil {
		t.Error("node-3 is still there")
	}
	if _, err := get("mine"); err != nil {
		t.Errorf("a node of somebody else: %v", err)
	}
}

func TestStagesParse(t *testing.T) {
	t.Parallel()
	got, err := stages()
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 4 {
		t.Errorf("stages for %d kinds, want nodes, pods, claims and volumes", len(got))
	}
}
