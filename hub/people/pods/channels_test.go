package pods_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gorilla/websocket"
	. "github.com/onsi/gomega"

	"k8s.io/client-go/rest"

	"fairlead.dev/hub/people/pods"
)

// TestAMemberThatNeverSaysHowACommandEndedIsNotHeard has the other end of a terminal flood the error channel, which is
// buffered until the end.
func TestAMemberThatNeverSaysHowACommandEndedIsNotHeard(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var sent atomic.Int64
	hub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		up := websocket.Upgrader{Subprotocols: []string{"v5.channel.k8s.io"}}
		conn, err := up.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		message := append([]byte{3}, strings.Repeat("x", 1<<10)...)
		for range 256 << 10 {
			if conn.WriteMessage(websocket.BinaryMessage, message) != nil {
				return
			}
			sent.Add(int64(len(message)))
		}
	}))
	defer hub.Close()
	members, err := pods.NewMembers(&rest.Config{Host: hub.URL})
	g.Expect(err).NotTo(HaveOccurred())
	err = members.Exec(t.Context(), pods.Command{Cluster: "edge-7", Namespace: "shop", Pod: "web-1", Container: "app", Words: []string{"sh"}, Out: io.Discard, TTY: true})
	g.Expect(err).To(MatchError(ContainSubstring("more than 64 KiB about how the command ended")))
	g.Expect(sent.Load()).To(BeNumerically("<", 64<<20), "it was cut off")
}
