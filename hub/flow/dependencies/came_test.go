package dependencies

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/test/builder"
)

// listed counts the lists of a kind.
type listed struct {
	client.Client
	times int
}

func (l *listed) List(context.Context, client.ObjectList, ...client.ListOption) error {
	l.times++
	return nil
}

// TestStartDoesNotListForEachCluster adds clusters when the hub starts, and later.
func TestStartDoesNotListForEachCluster(t *testing.T) {
	t.Parallel()
	for name, all := range map[string]bool{"namespaces follow objects and quotas": false, "all namespaces go to all clusters": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, l := NewWithT(t), &listed{}
			n := &namespaces{Reconciler: &Reconciler{hubClient: l}, reader: l, all: all}
			came := event.TypedCreateEvent[*clusterv1alpha1.Cluster]{Object: builder.MakeCluster("edge-1").Obj(), IsInInitialList: true}
			for range 1000 {
				n.came(t.Context(), came, nil)
			}
			g.Expect(l.times).To(BeZero(), "clusters that exist at the start list nothing")
			came.IsInInitialList = false
			n.came(t.Context(), came, nil)
			g.Expect(l.times).To(Equal(1), "a later cluster lists once")
		})
	}
}
