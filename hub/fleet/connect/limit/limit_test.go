package limit

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestAcquire(t *testing.T) {
	g := NewWithT(t)
	c := New("streams", Limits{Line: 3, User: 2, UserHub: 3, Hub: 4})
	open := func(cluster, user string) func() {
		t.Helper()
		release, exceeded := c.Acquire(cluster, user)
		g.Expect(exceeded).To(BeNil())
		return release
	}
	refused := func(cluster, user string) string {
		t.Helper()
		_, exceeded := c.Acquire(cluster, user)
		g.Expect(exceeded).NotTo(BeNil())
		return exceeded.Message
	}
	first := open("edge-1", "alice")
	open("edge-1", "alice")
	g.Expect(refused("edge-1", "alice")).To(Equal("alice has 2 streams open to edge-1, and a user may have 2: end one, or wait"))
	open("edge-1", "bob")
	g.Expect(refused("edge-1", "bob")).To(Equal("3 streams are open to edge-1, and a line takes 3: wait until one ends"))
	last := open("edge-2", "alice")
	g.Expect(refused("edge-3", "alice")).To(Equal("alice has 3 streams open to all clusters, and a user may have 3: end one, or wait"), "others are to find room")
	g.Expect(refused("edge-2", "bob")).To(Equal("4 streams are open to all clusters, and this hub takes 4: wait until one ends"))
	g.Expect(c.Open()).To(Equal(4))

	first()
	first() // releasing twice has no further effect
	g.Expect(c.Open()).To(Equal(3))
	open("edge-1", "alice")
	last()
	g.Expect(c.lines).To(HaveLen(1), "nothing is kept of a line without streams")
	g.Expect(c.users).To(HaveLen(2))
}
