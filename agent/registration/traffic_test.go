package registration

import (
	"context"
	"io"
	"net"
	"testing"

	. "github.com/onsi/gomega"
)

func TestTrafficIsCounted(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	here, there := net.Pipe()
	c := &Credentials{}
	conn, err := c.traffic.counted(func(context.Context, string, string) (net.Conn, error) { return here, nil })(t.Context(), "tcp", "hub:443")
	g.Expect(err).NotTo(HaveOccurred())
	answered := make(chan error, 1)
	go func() {
		asked := make([]byte, len("hello"))
		_, err := io.ReadFull(there, asked)
		if err == nil {
			_, err = there.Write([]byte("hello, too"))
		}
		answered <- err
	}()
	_, err = conn.Write([]byte("hello"))
	g.Expect(err).NotTo(HaveOccurred())
	_, err = io.ReadFull(conn, make([]byte, len("hello, too")))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(<-answered).To(Succeed())
	g.Expect(conn.Close()).To(Succeed())
	sent, received := c.Traffic()
	g.Expect([]int64{sent, received}).To(Equal([]int64{5, 10}))
}
