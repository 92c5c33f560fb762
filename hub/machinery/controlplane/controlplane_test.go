package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	// asProgram makes the test executable act as the program under test, both as supervisor and as its components.
	asProgram   = "CONTROLPLANE_TEST_AS_PROGRAM"
	poll        = 20 * time.Millisecond
	waitTimeout = 2 * time.Minute
)

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// program is a running control plane.
type program struct {
	cmd    *exec.Cmd
	stderr *lockedBuffer
	exited chan struct{}
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func start(t *testing.T, arguments ...string) *program {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &program{cmd: exec.Command(exe, arguments...), stderr: &lockedBuffer{}, exited: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), asProgram+"=1")
	p.cmd.Stderr = p.stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.exited)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.exited
		if t.Failed() {
			t.Logf("control plane %q said:\n%s", arguments, p.stderr)
		}
	})
	return p
}

// wait waits until the program exits and returns its exit status.
func (p *program) wait(t *testing.T) int {
	t.Helper()
	select {
	case <-p.exited:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(waitTimeout):
		t.Fatalf("the control plane did not end; it said:\n%s", p.stderr)
		return 0
	}
}

func eventually(t *testing.T, what string, met func(context.Context) (bool, error)) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), poll, waitTimeout, true, func(ctx context.Context) (bool, error) {
		var ok bool
		ok, last = met(ctx)
		return ok, nil
	})
	if err != nil {
		t.Fatalf("waited in vain for %s: %v", what, last)
	}
}

// ready waits until the API of the kubeconfig is ready.
func (p *program) ready(t *testing.T, kubeconfig string) (*kubernetes.Clientset, *rest.Config) {
	t.Helper()
	var api *kubernetes.Clientset
	var config *rest.Config
	eventually(t, "the API to be ready", func(ctx context.Context) (bool, error) {
		select {
		case <-p.exited:
			t.Fatalf("the control plane ended; it said:\n%s", p.stderr)
		default:
		}
		var err error
		if config, err = clientcmd.BuildConfigFromFlags("", kubeconfig); err != nil {
			return false, err
		}
		if api, err = kubernetes.NewForConfig(config); err != nil {
			return false, err
		}
		err = api.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
		return err == nil, err
	})
	return api, config
}

// processes returns the processes with the directory on their command line.
func processes(t *testing.T, dir string) []string {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, path := range all {
		line, err := os.ReadFile(path)
		if err == nil && bytes.Contains(line, []byte(dir)) {
			out = append(out, string(bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
		}
	}
	return out
}

func TestHub(t *testing.T) {
	t.Parallel()
	// Longer than the path of a unix socket may be.
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	kubeconfig := filepath.Join(t.TempDir(), "hub.kubeconfig")
	arguments := []string{"--profile=hub", "--data-dir=" + dir, "--kubeconfig=" + kubeconfig, "--unsafe-no-fsync"}
	ctx := t.Context()

	p := start(t, arguments...)
	api, config := p.ready(t, kubeconfig)
	info, err := os.Stat(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != 0o600 {
		t.Errorf("mode of the kubeconfig = %o, want 600", got)
	}

	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "template"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
	stored, err := api.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("storing a pod as a template: %v", err)
	}
	if stored.Spec.ServiceAccountName != "" || len(stored.Spec.Tolerations) > 0 || stored.Spec.Priority != nil || len(stored.Spec.Volumes) > 0 {
		t.Errorf("the hub wrote into the template: %+v", stored.Spec)
	}

	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "short-lived"}}
	if _, err := api.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := api.CoreV1().Namespaces().Delete(ctx, ns.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a deleted namespace to go", func(ctx context.Context) (bool, error) {
		list, err := api.CoreV1().Namespaces().List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + ns.Name})
		return err == nil && len(list.Items) == 0, err
	})

	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kept"}}
	if _, err := api.CoreV1().ConfigMaps("default").Create(ctx, cm, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	second := start(t, arguments...)
	if status := second.wait(t); status == 0 {
		t.Error("a second start on the same data succeeded")
	}
	if said := second.stderr.String(); strings.Count(said, "\n") != 1 || !strings.Contains(said, "in use") {
		t.Errorf("a second start said %q, want one sentence that the directory is in use", said)
	}

	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-p.exited
	eventually(t, "all processes of a killed control plane to go", func(context.Context) (bool, error) {
		left := processes(t, dir)
		return len(left) == 0, fmt.Errorf("left: %q", left)
	})

	p = start(t, arguments...)
	api, again := p.ready(t, kubeconfig)
	if again.Host != config.Host {
		t.Errorf("address after a restart = %s, want %s", again.Host, config.Host)
	}
	if _, err := api.CoreV1().ConfigMaps("default").Get(ctx, "kept", metav1.GetOptions{}); err != nil {
		t.Errorf("an object from before the restart: %v", err)
	}
	old, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := old.CoreV1().ConfigMaps("default").Get(ctx, "kept", metav1.GetOptions{}); err != nil {
		t.Errorf("the kubeconfig from before the restart: %v", err)
	}

	// A watch that its client keeps open must not hold up the shutdown.
	watch, err := api.CoreV1().ConfigMaps("default").Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if status := p.wait(t); status != 0 {
		t.Errorf("exit status after SIGTERM = %d, want 0", status)
	}
	if said := p.stderr.String(); strings.Contains(said, "kube-apiserver did not stop") {
		t.Errorf("the shutdown was not graceful:\n%s", said)
	}
	if left := processes(t, dir); len(left) > 0 {
		t.Errorf("left after SIGTERM: %q", left)
	}
}

func TestCluster(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, "--profile=cluster", "--data-dir="+dir, "--unsafe-no-fsync", "--nodes=2", "--region=eu", "--zones=a,b")
	api, _ := p.ready(t, filepath.Join(dir, "admin.kubeconfig"))
	ctx := t.Context()

	meta := metav1.ObjectMeta{Name: "web", Labels: map[string]string{"app": "web"}}
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: meta.Labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
	selector := &metav1.LabelSelector{MatchLabels: meta.Labels}
	replicas := int32(3)

	deployment := &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Replicas: &replicas, Selector: selector, Template: template}}
	if _, err := api.AppsV1().Deployments("default").Create(ctx, deployment, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the deployment to be ready", func(ctx context.Context) (bool, error) {
		d, err := api.AppsV1().Deployments("default").Get(ctx, meta.Name, metav1.GetOptions{})
		return err == nil && d.Status.ReadyReplicas == replicas, err
	})

	once := *template.DeepCopy()
	once.Spec.RestartPolicy = corev1.RestartPolicyNever
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "once"}, Spec: batchv1.JobSpec{Template: once}}
	if _, err := api.BatchV1().Jobs("default").Create(ctx, job, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the job to complete", func(ctx context.Context) (bool, error) {
		j, err := api.BatchV1().Jobs("default").Get(ctx, job.Name, metav1.GetOptions{})
		return err == nil && j.Status.Succeeded == 1, err
	})

	// The pods of the Deployment carry the label too, so the StatefulSet needs its own.
	set := statefulSet("db", replicas)
	if _, err := api.AppsV1().StatefulSets("default").Create(ctx, set, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the stateful set with claims to be ready", func(ctx context.Context) (bool, error) {
		s, err := api.AppsV1().StatefulSets("default").Get(ctx, set.Name, metav1.GetOptions{})
		return err == nil && s.Status.ReadyReplicas == replicas, err
	})

	nodes, err := api.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: corev1.LabelTopologyRegion + "=eu"})
	if err != nil {
		t.Fatal(err)
	}
	zones := map[string]bool{}
	for _, n := range nodes.Items {
		zones[n.Labels[corev1.LabelTopologyZone]] = true
	}
	if len(nodes.Items) != 2 || !zones["a"] || !zones["b"] {
		t.Errorf("%d nodes in zones %v, want one in each of a and b", len(nodes.Items), zones)
	}

	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if status := p.wait(t); status != 0 {
		t.Errorf("exit status after SIGTERM = %d, want 0", status)
	}
	if left := processes(t, dir); len(left) > 0 {
		t.Errorf("left after SIGTERM: %q", left)
	}
}

func statefulSet(name string, replicas int32) *appsv1.StatefulSet {
	labels := map[string]string{"app": name}
	claim := corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "data"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.StatefulSetSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: "c", Image: "i", VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data"}},
				}}},
			},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{claim},
		},
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, arguments := range map[string][]string{
		"no profile":                        {"--data-dir=" + dir},
		"an unknown profile":                {"--profile=spoke", "--data-dir=" + dir},
		"an unknown flag":                   {"--replicas=3"},
		"an unknown command":                {"serve"},
		"nodes on a hub":                    {"--profile=hub", "--data-dir=" + dir, "--nodes=3"},
		"a quantity that is none":           {"--profile=cluster", "--data-dir=" + dir, "--node-cpu=many"},
		"a data directory that is a file":   {"--profile=hub", "--data-dir=" + file},
		"an address of some other machine":  {"--profile=hub", "--data-dir=" + dir, "--bind-address=192.0.2.1"},
		"a kubeconfig that has no place":    {"--profile=hub", "--data-dir=" + filepath.Join(dir, "k"), "--kubeconfig=" + filepath.Join(dir, "none", "k")},
		"a service range that is no range ": {"--profile=hub", "--data-dir=" + dir, "--service-cidr=ten"},
	} {
		t.Run(name+" is refused in one sentence", func(t *testing.T) {
			t.Parallel()
			p := start(t, arguments...)
			if status := p.wait(t); status != 1 {
				t.Errorf("exit status = %d, want 1", status)
			}
			if said := p.stderr.String(); strings.Count(said, "\n") != 1 || !strings.HasPrefix(said, "controlplane: ") {
				t.Errorf("said %q, want one line", said)
			}
		})
	}
}
