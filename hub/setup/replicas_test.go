package setup

import (
	"net/http"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/utils/clock"

	"fairlead.dev/hub/fleet/connect/lines"
	"fairlead.dev/hub/fleet/connect/peers"
)

// nowhere keeps the records of no replica; it is not asked before replicas start.
type nowhere struct{ peers.Directory }

func TestFollowingTheLinesOfAllReplicasStops(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	own := lines.New()
	others, err := peers.New(peers.Options{
		BindAddress: "127.0.0.1:0", Directory: nowhere{}, Lines: own, Handler: http.NotFoundHandler(), Elected: make(chan struct{}), Clock: clock.RealClock{},
	})
	g.Expect(err).NotTo(HaveOccurred())
	all := &allLines{Registry: own, peers: others}
	var told []string
	stop := all.OnChange(func(cluster string) { told = append(told, cluster) })
	now := clock.RealClock{}.Now()
	own.Open("edge-1", nil, lines.Info{}, now)
	g.Expect(told).To(Equal([]string{"edge-1"}))

	stop()

	own.Open("edge-2", nil, lines.Info{}, now)
	g.Expect(told).To(Equal([]string{"edge-1"}), "after it was stopped")
}
