package meter

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"
)

// Exit statuses of a bench.
const (
	exitDone = iota
	exitFailed
	// exitMissed: everything was measured, but a target was missed.
	exitMissed
)

// Main runs a bench until it ends or is interrupted, and returns the exit status.
func Main(name string, run func(context.Context) (missed int, err error)) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	missed, err := run(ctx)
	switch {
	case errors.Is(err, pflag.ErrHelp):
	case err != nil:
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		return exitFailed
	case missed > 0:
		fmt.Fprintf(os.Stderr, "%s: %d of what was promised is missed\n", name, missed)
		return exitMissed
	}
	return exitDone
}
