package pods

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/client-go/util/exec"
	"k8s.io/streaming/pkg/httpstream"

	"fairlead.dev/hub/people/pods/owned"
)

// Command is a command to run in a container.
type Command struct {
	Cluster, Namespace, Pod, Container string
	// Words are the program and its arguments.
	Words []string
	// In is the input; nil for none. With TTY both outputs go to Out.
	In       io.Reader
	Out, Err io.Writer
	TTY      bool
	// Sizes returns the sizes of the terminal as they change; nil if unknown.
	Sizes remotecommand.TerminalSizeQueue
}

// Exec runs a command in a container until it or the context ends. If the command itself failed, ExitStatus returns its
// exit status.
func (m *Members) Exec(ctx context.Context, c Command) error {
	query := url.Values{
		"command": c.Words, "container": {c.Container}, "stdout": {"true"},
		"stdin": {strconv.FormatBool(c.In != nil)}, "stderr": {strconv.FormatBool(!c.TTY)}, "tty": {strconv.FormatBool(c.TTY)},
	}
	at := member{m, c.Cluster}.url("/api/v1/namespaces/"+c.Namespace+"/pods/"+c.Pod+"/exec", query)
	transport, upgrader, err := spdy.RoundTripperFor(m.config)
	if err != nil {
		return fmt.Errorf("preparing to run a command in %s: %w", c.Cluster, err)
	}
	old, err := remotecommand.NewSPDYExecutorForTransports(transport, boundedUpgrader{upgrader}, http.MethodPost, at)
	if err != nil {
		return fmt.Errorf("preparing to run a command in %s: %w", c.Cluster, err)
	}
	o := remotecommand.StreamOptions{Stdin: c.In, Stdout: c.Out, Tty: c.TTY, TerminalSizeQueue: c.Sizes}
	if !c.TTY {
		o.Stderr = c.Err
	}
	err = webSocket{m.config, at.String()}.run(ctx, o)
	if err != nil && speaksNoWebSocket(err) {
		err = old.StreamWithContext(ctx, o)
	}
	var upgrade *httpstream.UpgradeFailureError
	if errors.As(err, &upgrade) && apierrors.ReasonForError(upgrade.Cause) != "" {
		return upgrade.Cause // the message of whoever refused, without the wrapping
	}
	return err
}

// speaksNoWebSocket says whether a command failed because something on the way supports only SPDY. A refused request is
// not repeated.
func speaksNoWebSocket(err error) bool {
	var upgrade *httpstream.UpgradeFailureError
	if !errors.As(err, &upgrade) {
		return httpstream.IsHTTPSProxyError(err)
	}
	var status apierrors.APIStatus
	if !errors.As(upgrade.Cause, &status) {
		return true
	}
	switch status.Status().Code {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusTooManyRequests, http.StatusServiceUnavailable,
		http.StatusGatewayTimeout, http.StatusBadGateway, http.StatusLoopDetected:
		return false
	}
	return true
}

// ExitStatus returns the exit status of a command that failed; false for other errors.
func ExitStatus(err error) (int, bool) {
	if ended, ok := errors.AsType[exec.CodeExitError](err); ok {
		return ended.Code, true
	}
	return 0, false
}

// ChoosePod returns the pod for a command if none is named: the first that is ready, or else the first whose container
// runs; nil if there is none.
func ChoosePod(found []Found, container string) (cluster string, pod *owned.Pod) {
	for _, whole := range []bool{true, false} {
		for i := range found {
			for j := range found[i].Pods {
				p := &found[i].Pods[j]
				name := container
				if name == "" {
					name = p.Default
				}
				if c, ok := p.Container(name); ok && c.Running && (p.Whole || !whole) {
					return found[i].Cluster, p
				}
			}
		}
	}
	return "", nil
}
