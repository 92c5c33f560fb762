package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"k8s.io/client-go/tools/clientcmd"

	"fairlead.dev/common/contract"
	"fairlead.dev/test/fleet"
	"fairlead.dev/test/fleet/fleettest"
)

const (
	// hubName is a name of the hub that only the proxy resolves.
	hubName = "hub.fairlead.test"
	// idleLimit is after how long without traffic the proxy closes a connection, as many do.
	idleLimit = time.Minute
	copied    = 100 << 20 // bytes
)

// protocols are those of kubectl, by the value of the environment variable that selects them.
var protocols = map[string]string{"SPDY": "false", "WebSocket": "true"}

// kubectl returns a kubectl command of an operator, for the API of the member.
func (s *system) kubectl(ctx context.Context, protocol string, args ...string) (*exec.Cmd, error) {
	config, err := clientcmd.LoadFromFile(s.fleet.Kubeconfig(fleet.HubName))
	if err != nil {
		return nil, fmt.Errorf("reading how to reach the hub: %w", err)
	}
	for _, cluster := range config.Clusters {
		cluster.Server += contract.ClusterProxyPath(member)
	}
	file := filepath.Join(s.fleet.Dir, "operator.kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		return nil, fmt.Errorf("writing how to reach the member: %w", err)
	}
	cmd := exec.CommandContext(ctx, s.fleet.Program("kubectl"), append([]string{"--kubeconfig", file}, args...)...)
	cmd.Env = append(os.Environ(), "KUBECTL_REMOTE_COMMAND_WEBSOCKETS="+protocols[protocol], "HTTPS_PROXY=")
	cmd.Dir, cmd.WaitDelay = s.fleet.Dir, time.Second
	return cmd, nil
}

// copies sends a file to the pod and back, with each protocol.
func (s *system) copies(ctx context.Context) error {
	data := make([]byte, copied)
	if _, err := rand.Read(data); err != nil {
		return err
	}
	want, same := sha256.Sum256(data), 0
	there, back := filepath.Join(s.fleet.Dir, "there"), filepath.Join(s.fleet.Dir, "back")
	if err := os.WriteFile(there, data, 0o600); err != nil {
		return err
	}
	for protocol := range protocols {
		began := time.Now()
		for _, way := range [][2]string{{there, pod + ":copied"}, {pod + ":copied", back}} {
			cmd, err := s.kubectl(ctx, protocol, "cp", way[0], way[1])
			if err != nil {
				return err
			}
			if out, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("copying by %s: %w: %s", protocol, err, out)
			}
		}
		got, err := os.ReadFile(back)
		if err != nil {
			return err
		}
		if sha256.Sum256(got) == want {
			same++
		}
		progress("%d MB by %s, there and back, in %.1f s", copied>>20, protocol, time.Since(began).Seconds())
		if err := os.Remove(back); err != nil {
			return err
		}
	}
	s.bars.Least("files of 100 MB that are what they were after kubectl cp there and back, one by SPDY and one by WebSocket", float64(same), float64(len(protocols)), "files")
	return nil
}

// silent runs commands without output for long, through a proxy that closes idle connections.
func (s *system) silent(ctx context.Context) error {
	way, err := fleettest.StartProxy(map[string]string{hubName + ":443": strings.TrimPrefix(s.hub.Host, "https://")}, idleLimit)
	if err != nil {
		return err
	}
	defer way.Close()
	if err := s.throughProxy(ctx, way); err != nil {
		return err
	}
	var g errgroup.Group
	for protocol := range protocols {
		g.Go(func() error { return s.echoesLate(ctx, protocol) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	progress("the proxy cut %d connections that were idle, and was asked for %d", way.Cut(), len(way.Seen()))
	s.bars.Least("exec goes on by SPDY and by WebSocket after a silence, behind a proxy that cuts after 60 s", s.silence.Minutes(), barSilence, "min")
	return nil
}

// throughProxy restarts the agent so that it reaches the hub only through a proxy.
func (s *system) throughProxy(ctx context.Context, way *fleettest.Proxy) error {
	if err := s.fleet.Stop(ctx, fleet.AgentName(member)); err != nil {
		return err
	}
	file := filepath.Join(s.fleet.StateDir(member), "hub.kubeconfig")
	config, err := clientcmd.LoadFromFile(file)
	if err != nil {
		return fmt.Errorf("reading how the agent reaches the hub: %w", err)
	}
	for _, cluster := range config.Clusters {
		cluster.Server = "https://" + hubName + ":443"
	}
	err = errors.Join(clientcmd.WriteToFile(*config, file), os.Setenv("HTTPS_PROXY", way.Address), os.Setenv("NO_PROXY", ""))
	if err != nil {
		return fmt.Errorf("sending the agent through a proxy: %w", err)
	}
	if err := s.fleet.StartAgent(member); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	return eventually(ctx, "the agent to open its line through the proxy", func(ctx context.Context) error {
		cmd, err := s.kubectl(ctx, "SPDY", "exec", pod, "--", "true")
		if err != nil {
			return err
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
}

// echoesLate sends input to a command, is silent, and sends input again.
func (s *system) echoesLate(ctx context.Context, protocol string) error {
	cmd, err := s.kubectl(ctx, protocol, "exec", "-i", pod, "--", "cat")
	if err != nil {
		return err
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	lines := bufio.NewReader(out)
	for i, word := range []string{"before\n", "after\n"} {
		if i > 0 {
			if err := pause(ctx, s.silence); err != nil {
				return errors.Join(err, cmd.Wait())
			}
		}
		_, err := io.WriteString(in, word)
		if err == nil {
			var got string
			if got, err = lines.ReadString('\n'); err == nil && got != word {
				err = fmt.Errorf("it echoes %q", got)
			}
		}
		if err != nil {
			return errors.Join(fmt.Errorf("exec by %s, which was told %q: %w", protocol, word, err), in.Close(), cmd.Wait())
		}
	}
	return errors.Join(in.Close(), cmd.Wait())
}
