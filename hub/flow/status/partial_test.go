package status

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/types"
)

func TestTheFirstReportsWaitForTheOthersButNotLong(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p, key := newPartial(), types.NamespacedName{Namespace: "shop", Name: "web-deployment"}
	start := time.Unix(1000, 0)
	g.Expect(p.wait(key, true, start)).To(Equal(forOthers))
	g.Expect(p.wait(key, true, start.Add(forOthers/2))).To(Equal(forOthers/2), "a further report does not put it off")
	g.Expect(p.wait(key, true, start.Add(forOthers))).To(BeZero(), "a cluster that stays silent holds nobody up")

	g.Expect(p.wait(key, false, start)).To(BeZero(), "all have reported")
	g.Expect(p.since).To(BeEmpty())

	p.wait(key, true, start)
	p.forget(key)
	g.Expect(p.since).To(BeEmpty(), "nothing is kept of a binding that is gone")
}
