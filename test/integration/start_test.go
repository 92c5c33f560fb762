package integration

import (
	"context"
	"crypto/rand"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/clock"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/registration"
	"fairlead.dev/agent/registration/discovery"
	agentsetup "fairlead.dev/agent/setup"
	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/bootstrap"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter/lua/vm"
	"fairlead.dev/common/interpreter/store"
	"fairlead.dev/common/logging"
	"fairlead.dev/hub/machinery/apiserver"
	hubsetup "fairlead.dev/hub/setup"
	"fairlead.dev/test/stagetest"
)

// logEnv names the log file of hub and agents; without it they do not log.
const logEnv = "FAIRLEAD_TEST_LOG"

// installLog sets the log of this process, once.
var installLog = sync.OnceFunc(func() {
	out := io.Discard
	if path := os.Getenv(logEnv); path != "" {
		file, err := os.Create(path)
		if err != nil {
			panic(err) // the caller named it
		}
		out = file
	}
	log, err := logging.New(out, logging.FormatText, 1)
	if err != nil {
		panic(err) // the format is known
	}
	logging.Install(log)
})

func logged(ctx context.Context, name string) context.Context {
	return ctrl.LoggerInto(ctx, ctrl.Log.WithName(name))
}

// startHub installs the hub's prerequisites and runs its stages.
func (s *system) startHub(ctx context.Context, t *testing.T) {
	t.Helper()
	installLog()
	ctx = logged(ctx, hubName)
	info := apiserver.ClusterInfo{Servers: []string{s.hub.Config.Host}, CA: s.hub.Config.CAData}
	options := hubsetup.Options{
		ExecutionNamespacePrefix:  contract.DefaultExecutionNamespacePrefix,
		SkippedNamespaces:         []*regexp.Regexp{regexp.MustCompile("^kube-.*$")},
		ClusterMonitorPeriod:      5 * time.Second,
		ClusterMonitorGracePeriod: 40 * time.Second,
		ClusterStartupGracePeriod: time.Minute,
		Clock:                     clock.RealClock{},
		Registry:                  s.registry,
		ShutdownTimeout:           stagetest.ShutdownTimeout,
	}
	if err := apiserver.Install(ctx, s.hub.Config, apiserver.Options{ClusterInfo: &info, AdoptClusterInfo: true, Exclusions: new(options.Exclusions())}); err != nil {
		t.Fatalf("installing the hub: %v", err)
	}
	s.run(ctx, hubName, func(ctx context.Context) error {
		mgr, err := hubsetup.New(ctx, s.hub.Config, options)
		if err != nil {
			return err
		}
		return mgr.Start(ctx)
	})
}

// startAgent runs the agent of a member, which joins by token the first time.
func (s *system) startAgent(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	s.startAgentWith(ctx, t, name, func(*agentsetup.Options) {})
}

// startAgentWith runs it with changed options.
func (s *system) startAgentWith(ctx context.Context, t *testing.T, name string, change func(*agentsetup.Options)) {
	t.Helper()
	ctx = logged(ctx, name)
	member := s.member(name)
	stateDir := filepath.Join(member.DataDir, "agent")
	hub, err := registration.Load(stateDir, name)
	if err != nil {
		if hub, err = registration.Join(ctx, registration.Options{
			Flags: s.invite(t, name), StateDir: stateDir, Member: member.Config, Deadline: waitTimeout,
		}); err != nil {
			t.Fatalf("joining %q: %v", name, err)
		}
	}
	kinds, err := store.BuiltIn(vm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	options := agentsetup.Options{
		Hub: hub, Member: member.Config, Cluster: name, Interpreter: kinds, Clock: clock.RealClock{}, Version: "test",
		StatusFrequency:    agentsetup.DefaultStatusFrequency,
		LeaseDuration:      agentsetup.DefaultLeaseDuration,
		LeaseRenewFraction: agentsetup.DefaultLeaseRenewFraction,
		ShutdownTimeout:    stagetest.ShutdownTimeout,
	}
	change(&options)
	s.run(ctx, name, func(ctx context.Context) error { return agentsetup.Run(ctx, options) })
}

// invite creates a token and returns the flags that the operator of a member would use.
func (s *system) invite(t *testing.T, name string) discovery.Flags {
	t.Helper()
	token, err := bootstrap.New(rand.Reader, name, time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.hub.Client(t).Create(t.Context(), bootstrap.NewSecret(token)); err != nil {
		t.Fatalf("making a token for %q: %v", name, err)
	}
	hashes, err := bootstrap.CAHash(s.hub.Config.CAData)
	if err != nil {
		t.Fatal(err)
	}
	server, err := url.Parse(s.hub.Config.Host)
	if err != nil {
		t.Fatal(err)
	}
	return discovery.Flags{Hub: server.Host, Token: token.String(), CACertHashes: hashes, Cluster: name}
}

// awaitReady waits until all clusters are Ready.
func (s *system) awaitReady(t *testing.T) {
	t.Helper()
	eventually(t, func(g Gomega) {
		for _, member := range s.members {
			cluster := &clusterv1alpha1.Cluster{}
			g.Expect(s.hub.Client(t).Get(t.Context(), client.ObjectKey{Name: member.Name}, cluster)).To(Succeed())
			g.Expect(meta.IsStatusConditionTrue(cluster.Status.Conditions, clusterv1alpha1.ClusterReady)).To(BeTrue(), member.Name)
		}
	})
}
