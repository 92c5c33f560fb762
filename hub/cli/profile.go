package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"fairlead.dev/common/atomicfile"
)

const (
	cpuProfile = "cpu"
	// mostProfileSeconds bounds the duration of a profile.
	mostProfileSeconds = 600
)

// profileKinds are the profiles that a hub serves.
func profileKinds() []string { return []string{cpuProfile, "heap", "goroutine", "allocs", "trace"} }

// profileFlags are the flags of `hub profile`.
type profileFlags struct {
	dataDir, socket, output string
	seconds                 int
}

func newProfile(env Environment) *cobra.Command {
	var f profileFlags
	cmd := &cobra.Command{
		Use:   "profile [cpu|heap|goroutine|allocs|trace]",
		Short: "Take a profile of a hub on this machine that runs with --profiling",
		Long: "Take a profile of a hub that was started with --profiling, on its machine or in its container, as the user that it runs\n" +
			"as: what it spends processor time on (cpu, the default), what it has in memory (heap), what it has under way (goroutine).\n" +
			"`go tool pprof` shows it. The profiles of the API that the hub works on are told by that API, to administrators:\n" +
			"kubectl get --raw '/debug/pprof/profile?seconds=30'.",
		Example: "  hub profile -o hub.pprof --seconds 60\n  kubectl exec -n fairlead-system fairlead-hub-0 -- /hub profile heap > heap.pprof",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			kind := cpuProfile
			if len(args) > 0 {
				kind = args[0]
			}
			return f.run(cmd.Context(), env, kind)
		},
		ValidArgsFunction: cobra.FixedCompletions(profileKinds(), cobra.ShellCompDirectiveNoFileComp),
	}
	flags := cmd.Flags()
	flags.StringVar(&f.dataDir, "data-dir", defaultDataDir, "data directory of the hub")
	flags.StringVar(&f.socket, "socket", "", "where a hub with --kubeconfig tells its profiles, which its log says (default: profiling.sock in the data directory)")
	flags.IntVar(&f.seconds, "seconds", 30, "how long the hub is profiled, for cpu and trace")
	flags.StringVarP(&f.output, "output", "o", stdio, "file to write, readable by you only; - is the standard output")
	completeDirectories(cmd, "data-dir")
	completeFlag(cmd, "socket", files)
	completeFlag(cmd, "output", files)
	return cmd
}

func (f *profileFlags) run(ctx context.Context, env Environment, kind string) error {
	if !slices.Contains(profileKinds(), kind) {
		return fmt.Errorf("there is no profile %q: there are %s", kind, strings.Join(profileKinds(), ", "))
	}
	if f.seconds < 1 || f.seconds > mostProfileSeconds {
		return fmt.Errorf("--seconds %d must be 1 to %d", f.seconds, mostProfileSeconds)
	}
	if f.output == stdio && env.Terminal {
		return errors.New("a profile is binary: name a file with --output")
	}
	socket := f.socket
	if socket == "" {
		socket = filepath.Join(f.dataDir, profilingSocket)
	}
	data, err := askProfile(ctx, socket, kind, f.seconds)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("the profiles of a hub are for the user that it runs as: %w", err)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED): // the socket may be left over from a killed hub
		return fmt.Errorf("no hub serves profiles there; start it with --profiling, and name its --data-dir or its --socket: %w", err)
	case err != nil:
		return fmt.Errorf("taking a profile: %w", err)
	}
	if f.output != stdio {
		return atomicfile.Write(f.output, data)
	}
	if _, err := env.exact.Write(data); err != nil {
		return fmt.Errorf("printing the profile: %w", err)
	}
	return nil
}

// askProfile reads a profile from a hub's socket.
func askProfile(ctx context.Context, socket, kind string, seconds int) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(seconds)*time.Second+time.Minute)
	defer cancel()
	path, query := "/debug/pprof/"+kind, url.Values{}
	switch kind {
	case cpuProfile:
		path = "/debug/pprof/profile"
		query.Set("seconds", strconv.Itoa(seconds))
	case "trace":
		query.Set("seconds", strconv.Itoa(seconds))
	case "heap":
		query.Set("gc", "1") // collect garbage first, so that only live objects are counted
	}
	c := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", socket)
		},
	}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://hub"+path+"?"+query.Encode(), http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := c.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("the hub answers %s: %s", response.Status, strings.TrimSpace(string(data)))
	}
	return data, err
}
