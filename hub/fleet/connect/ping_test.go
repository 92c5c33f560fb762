package connect

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestAnAgentMayBeAskedMoreRarely(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]time.Duration{
		"": 5 * time.Second, "often": 5 * time.Second, "1ms": 5 * time.Second, "-1h": 5 * time.Second, "30s": 30 * time.Second, "1000h": time.Minute,
	} {
		NewWithT(t).Expect(pingOf(said)).To(Equal(want), said)
	}
}
