package network

import (
	"bytes"
	"context"
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"fairlead.dev/test/cluster"
)

// versionVariable names the variable with the tag of the images from `make images`.
const versionVariable = "FAIRLEAD_IMAGES"

// cleaning is how long the cleanup of a test may take.
const cleaning = 2 * time.Minute

// site is everything that a test started. All of it has the label.
type site struct {
	prefix, version string
}

func newSite(t *testing.T) *site {
	t.Helper()
	version := os.Getenv(versionVariable)
	if version == "" {
		t.Skip("this needs images: run `make test-network`")
	}
	if out, err := exec.CommandContext(t.Context(), "docker", "info").CombinedOutput(); err != nil {
		t.Fatalf("there is no Docker engine to run containers with: %v\n%s", err, out)
	}
	s := &site{prefix: "fairlead-" + strings.ToLower(rand.Text()[:8]), version: version}
	t.Cleanup(func() { s.clean(t) })
	return s
}

func (s *site) label() string { return "fairlead-test=" + s.prefix }

func (s *site) name(short string) string { return s.prefix + "-" + short }

// docker runs the docker command, which must succeed.
func docker(ctx context.Context, t *testing.T, g Gomega, args ...string) string {
	t.Helper()
	return dockerWith(ctx, t, g, nil, args...)
}

func dockerWith(ctx context.Context, t *testing.T, g Gomega, in []byte, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "docker", args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(in), &stdout, &stderr
	g.Expect(cmd.Run()).To(Succeed(), "docker %s: %s", strings.Join(args, " "), &stderr)
	return strings.TrimSpace(stdout.String())
}

// network creates a network without a way out.
func (s *site) network(t *testing.T, short string) {
	t.Helper()
	docker(t.Context(), t, NewWithT(t), "network", "create", "--internal", "--label", s.label(), s.name(short))
}

// start runs an image in the background.
func (s *site) start(t *testing.T, short string, args ...string) {
	t.Helper()
	docker(t.Context(), t, NewWithT(t), append([]string{
		"run", "--detach", "--label", s.label(), "--name", s.name(short), "--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges",
	}, args...)...)
}

// relayImage builds an image of the relay program.
func (s *site) relayImage(t *testing.T) string {
	t.Helper()
	g := NewWithT(t)
	root, err := cluster.Root()
	g.Expect(err).NotTo(HaveOccurred())
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags", "-s -w", "-o", filepath.Join(dir, "relay"), "./test/network/relay")
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(out))
	dockerfile := "FROM scratch\nCOPY relay /\nUSER 65532:65532\nENTRYPOINT [\"/relay\"]\n"
	g.Expect(os.WriteFile(filepath.Join(dir, "Dockerfile"), []byte(dockerfile), 0o600)).To(Succeed())
	image := s.name("relay")
	docker(t.Context(), t, g, "build", "--label", s.label(), "--tag", image, dir)
	return image
}

// address returns the address of a container in a network.
func (s *site) address(t *testing.T, container, network string) string {
	t.Helper()
	g := NewWithT(t)
	format := `{{(index .NetworkSettings.Networks "` + s.name(network) + `").IPAddress}}`
	address := docker(t.Context(), t, g, "inspect", "--format", format, s.name(container))
	g.Expect(address).NotTo(BeEmpty())
	return address
}

// reaches reports whether an address can be connected to from a network.
func (s *site) reaches(t *testing.T, relay, network, address string) bool {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "docker", "run", "--rm", "--label", s.label(), "--network", s.name(network), relay, "probe", address)
	out, err := cmd.CombinedOutput()
	if err != nil {
		// Other exit statuses come from Docker.
		NewWithT(t).Expect(cmd.ProcessState.ExitCode()).To(Equal(1), string(out))
	}
	return err == nil
}

// clean removes everything with the label, and prints logs if the test failed.
func (s *site) clean(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), cleaning) // the test's context is done
	defer cancel()
	g := NewWithT(t)
	list := func(args ...string) []string {
		return strings.Fields(docker(ctx, t, g, append(args, "--quiet", "--filter", "label="+s.label())...))
	}
	containers := list("ps", "--all")
	if t.Failed() {
		for _, id := range containers {
			out, _ := exec.CommandContext(ctx, "docker", "logs", "--tail", "20", id).CombinedOutput()
			t.Logf("%s\n%s", docker(ctx, t, g, "inspect", "--format", "{{.Name}} {{.State.Status}}", id), out)
		}
	}
	remove := func(ids []string, command ...string) {
		if len(ids) > 0 {
			docker(ctx, t, g, append(command, ids...)...)
		}
	}
	remove(containers, "rm", "--force", "--volumes")
	remove(list("network", "ls"), "network", "rm")
	remove(list("volume", "ls"), "volume", "rm")
	remove(list("images", "--all"), "rmi", "--force")
}
