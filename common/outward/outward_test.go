package outward_test

import (
	"context"
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"

	"fairlead.dev/common/outward"
)

func TestAddress(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	addr, err := netip.ParseAddr(outward.Address(t.Context()))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(addr.IsUnspecified()).To(BeFalse(), "others can be told")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	g.Expect(outward.Address(ended)).To(Equal("127.0.0.1"), "without a network")
}
