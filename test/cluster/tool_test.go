package cluster_test

import (
	"runtime"
	"testing"

	. "github.com/onsi/gomega"

	"fairlead.dev/test/cluster"
)

// outcome is a testing.TB that records how the test ended.
type outcome struct {
	testing.TB
	how string
}

func (o *outcome) Helper()               {}
func (o *outcome) Skipf(string, ...any)  { o.end("skipped") }
func (o *outcome) Fatalf(string, ...any) { o.end("failed") }

func (o *outcome) end(how string) {
	o.how = how
	runtime.Goexit()
}

func TestWhatTheGateInstallsIsNoReasonToSkip(t *testing.T) { //nolint:paralleltest // It sets the environment.
	g := NewWithT(t)
	ends := func(name string, others ...string) string {
		o, done := &outcome{TB: t}, make(chan struct{})
		go func() {
			defer close(done)
			cluster.Tool(o, name, others...)
			o.how = "ran"
		}()
		<-done
		return o.how
	}
	t.Setenv(cluster.NeedTools, "")
	g.Expect(ends("no-such-tool")).To(Equal("skipped"))
	g.Expect(ends("no-such-tool", "", "sh")).To(Equal("ran"), "by another name")
	t.Setenv(cluster.NeedTools, "chromium no-such-tool")
	g.Expect(ends("no-such-tool")).To(Equal("failed"))
	g.Expect(ends("no-such-too")).To(Equal("skipped"))
}
