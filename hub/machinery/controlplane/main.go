package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/pflag"
	"google.golang.org/grpc/grpclog"

	"k8s.io/utils/clock"

	"fairlead.dev/hub/machinery/controlplane/supervise"
	_ "fairlead.dev/hub/machinery/controlplane/translations" // only kubectl loads them
)

func main() {
	if strings.HasPrefix(filepath.Base(os.Args[0]), "kubectl") {
		os.Exit(kubectl())
	}
	if len(os.Args) > 1 {
		if run := component(os.Args[1]); run != nil {
			// The component expects to be the only program in the executable.
			os.Args = os.Args[1:]
			os.Exit(run())
		}
	}
	os.Exit(supervisor())
}

// supervisor runs a control plane and returns the exit status.
func supervisor() int {
	trustPublicWeb()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	// A second signal ends this process at once, and the kernel then kills the components.
	context.AfterFunc(ctx, stop)
	// Cobra also offers the flags of this global set, to which the components have added theirs, such as --version.
	pflag.CommandLine = pflag.NewFlagSet("", pflag.ContinueOnError)
	// Errors of the etcd client about members are reported in other words.
	grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, io.Discard))
	report := func(format string, args ...any) {
		fmt.Fprintf(os.Stderr, "controlplane: "+format+"\n", args...)
	}
	cmd := newCommand(func(ctx context.Context, cfg supervise.Config) error {
		return supervise.Run(ctx, cfg, clock.RealClock{}, report)
	})
	if err := cmd.ExecuteContext(ctx); err != nil {
		report("%v", err)
		return 1
	}
	return 0
}
