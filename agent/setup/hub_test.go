package setup

import (
	"context"
	"net/http/httptest"
	"testing"

	. "github.com/onsi/gomega"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

// refusedRules is a cache of a hub that forbids the agent to read the interpreter customizations, whose informers
// therefore never sync.
type refusedRules struct {
	cache.Cache

	works informed
}

type informed struct {
	cache.Informer

	synced bool
}

func (i informed) HasSynced() bool { return i.synced }

func (refusedRules) WaitForCacheSync(context.Context) bool { return false }

func (c refusedRules) GetInformer(_ context.Context, obj client.Object, _ ...cache.InformerGetOption) (cache.Informer, error) {
	if _, ok := obj.(*workv1alpha1.Work); ok {
		return c.works, nil
	}
	return informed{}, nil
}

// TestAnAgentIsReadyOnceItHasReadItsWorks checks that readiness depends on the Works only: an agent without the rules
// of its hub would otherwise never be ready, and its upgrade would be rolled back.
func TestAnAgentIsReadyOnceItHasReadItsWorks(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	request := httptest.NewRequestWithContext(t.Context(), "GET", "/readyz", nil)
	g.Expect(worksRead(refusedRules{})(request)).To(MatchError(ContainSubstring("the Works have not been read")))
	g.Expect(worksRead(refusedRules{works: informed{synced: true}})(request)).To(Succeed())
}
