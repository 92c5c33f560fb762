package logging_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"

	"k8s.io/klog/v2"

	"fairlead.dev/common/logging"
)

func TestLibrariesAreQuietUntilThereIsALogger(t *testing.T) { //nolint:paralleltest // There is one logger of libraries in a process.
	g := NewWithT(t)
	var errOut bytes.Buffer
	klog.LogToStderr(false)
	klog.SetOutput(&errOut)
	t.Cleanup(func() {
		klog.ClearLogger()
		klog.LogToStderr(true)
	})
	fails := func() {
		klog.ErrorS(errors.New("connection refused"), "Couldn't get current server API group list")
		klog.Flush()
	}
	logging.Quiet()
	fails()
	g.Expect(errOut.String()).To(BeEmpty())

	var log bytes.Buffer
	logging.Install(funcr.New(func(_, args string) { log.WriteString(args) }, funcr.Options{}))
	fails()
	g.Expect(log.String()).To(ContainSubstring("connection refused"))
}
