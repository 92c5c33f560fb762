package view

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"

	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"fairlead.dev/common/kube/watchset"
	"fairlead.dev/test/builder"
)

// A dashboard keeps one RESTMapper for weeks, which retains versions that are no longer served and does not learn of
// new ones: explain must use the versions served now.
func TestOtherVersionsAreThoseThatAreServedNow(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	database := []metav1.APIResource{{Name: "databases", Kind: "Database"}}
	lists := []*metav1.APIResourceList{
		{GroupVersion: "example.com/v1", APIResources: database}, {GroupVersion: "example.com/v1beta1", APIResources: database},
	}
	c := testingclock.NewFakePassiveClock(time.Unix(1, 0))
	served := watchset.NewServedKinds(func(context.Context) ([]*metav1.APIResourceList, error) { return lists, nil }, c)
	r, err := New(fake.NewClientBuilder().Build(), meta.NewDefaultRESTMapper(nil), served, c)
	g.Expect(err).NotTo(HaveOccurred())
	orders := builder.MakeTemplate("example.com/v1", "Database", "shop", "orders").Obj()
	g.Expect(r.otherVersions(t.Context(), orders)).To(ConsistOf("example.com/v1beta1"))

	lists[1].GroupVersion = "example.com/v2"
	c.SetTime(c.Now().Add(time.Minute))
	g.Expect(r.otherVersions(t.Context(), orders)).To(ConsistOf("example.com/v2"))
}
