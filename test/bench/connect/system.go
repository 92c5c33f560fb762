package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/install/manifest"
	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/test/bench/meter"
	"fairlead.dev/test/fleet"
	"fairlead.dev/test/fleet/hollow"
	"fairlead.dev/test/process"
)

const (
	member       = "edge-1"
	startTimeout = 10 * time.Minute
	poll         = 50 * time.Millisecond
	pod          = "bench"
)

// system is a hub with one real member, and lines of hollow agents.
type system struct {
	options
	bars  meter.Bars
	fleet *fleet.Fleet
	// direct is the configuration of the member's administrator, way that of an operator through the hub.
	direct, way *rest.Config
	hub         *rest.Config
	lines       []*hollowLine
}

// start returns when the member answers through its line and the hollow agents have joined. The second result stops
// everything.
func start(ctx context.Context, o options) (*system, func(), error) {
	down := func() {}
	dir, err := os.MkdirTemp("/tmp", "fairlead-connect-")
	if err != nil {
		return nil, down, fmt.Errorf("making a directory: %w", err)
	}
	f, err := fleet.New(fleet.Options{
		Bin: o.bin, Dir: dir, Clusters: 1, Nodes: 1, UnsafeExec: true, HubArgs: []string{"--profiling", "--tls-san", hubName}, Report: progress,
	})
	if err != nil {
		return nil, down, err
	}
	s := &system{options: o, fleet: f, bars: meter.Bars{Report: progress}}
	down = func() {
		for _, l := range s.lines {
			l.end()
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		if err := errors.Join(f.Down(ctx), process.Remove(dir)); err != nil {
			progress("%v", err)
		}
	}
	if err := f.Up(ctx); err != nil {
		return s, down, err
	}
	return s, down, s.prepare(ctx)
}

func (s *system) prepare(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	var err error
	if s.hub, err = s.fleet.Config(fleet.HubName); err != nil {
		return err
	}
	if s.direct, err = s.fleet.Config(member); err != nil {
		return err
	}
	s.way = rest.CopyConfig(s.hub)
	s.way.Host += contract.ClusterProxyPath(member)
	if !slices.ContainsFunc(s.scenes, func(scene string) bool {
		return slices.Contains([]string{"latency", "throughput", "copy", "unsent", "silence"}, scene)
	}) {
		return s.join(ctx) // the member is idle meanwhile
	}
	if err := s.letIn(ctx); err != nil {
		return err
	}
	through, err := kubernetes.NewForConfig(s.way)
	if err != nil {
		return fmt.Errorf("making a client through the hub: %w", err)
	}
	err = eventually(ctx, "the pod to run and to answer through the line", func(ctx context.Context) error {
		live, err := through.CoreV1().Pods(metav1.NamespaceDefault).Get(ctx, pod, metav1.GetOptions{})
		if err == nil && live.Status.Phase != corev1.PodRunning {
			err = fmt.Errorf("it is %s", live.Status.Phase)
		}
		return err
	})
	if err != nil {
		return err
	}
	return s.join(ctx)
}

// letIn grants the administrator of the hub access to the member, and creates the pod for it.
func (s *system) letIn(ctx context.Context) error {
	c, err := s.fleet.Client(member)
	if err != nil {
		return err
	}
	objects, err := manifest.OperatorObjects(manifest.Operators{Who: []string{"user:admin"}, May: []string{"exec", "write"}})
	if err != nil {
		return err
	}
	for _, obj := range objects {
		if err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(obj), client.ForceOwnership, client.FieldOwner("bench")); err != nil {
			return fmt.Errorf("letting operators in: %w", err)
		}
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "bench"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: contract.ConnectUserPrefix + "admin"}},
	}
	target := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: pod, Namespace: metav1.NamespaceDefault},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: pod, Image: pod}}},
	}
	if err := errors.Join(c.Create(ctx, binding), c.Create(ctx, target)); err != nil {
		return fmt.Errorf("making a pod to look at: %w", err)
	}
	return nil
}

// join registers the hollow agents, which do not open lines yet.
func (s *system) join(ctx context.Context) error {
	agents, err := hollow.New(ctx, hollow.Options{
		Hub: s.hub, PKI: filepath.Join(s.fleet.Dir, fleet.HubName, "pki"), Dir: filepath.Join(s.fleet.Dir, "agents"),
	})
	if err != nil {
		return err
	}
	clusters := make([]*clusterv1alpha1.Cluster, s.options.lines)
	for i := range clusters {
		clusters[i] = &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "hollow-" + strconv.Itoa(i+1)}}
	}
	progress("%d hollow agents join", len(clusters))
	if err := agents.Join(ctx, clusters...); err != nil {
		return err
	}
	for _, name := range agents.Names() {
		config, err := agents.Config(name)
		if err != nil {
			return err
		}
		s.lines = append(s.lines, &hollowLine{cluster: name, hub: config})
	}
	// From here on they need only their lines.
	agents.Silence(agents.Names()...)
	return nil
}

// resident returns the resident memory of the hub and its API server in bytes.
func (s *system) resident() (hub, api int64, err error) {
	pid, err := s.fleet.PID(fleet.HubName)
	if err != nil {
		return 0, 0, err
	}
	tree, err := meter.ReadTree()
	if err != nil {
		return 0, 0, err
	}
	if hub, err = meter.ResidentBytes(pid); err != nil {
		return 0, 0, err
	}
	for _, child := range tree.Below(pid) {
		if child.Component() == "kube-apiserver" {
			api, err = meter.ResidentBytes(child.PID)
		}
	}
	return hub, api, err
}

// eventually retries until try succeeds.
func eventually(ctx context.Context, what string, try func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextCancel(ctx, poll, true, func(ctx context.Context) (bool, error) {
		last = try(ctx)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for %s: %w", what, errors.Join(err, last))
	}
	return nil
}
