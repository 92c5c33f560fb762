package joining

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"fairlead.dev/test/process"
)

// crashes is an image whose program exits crashAfter every start.
const (
	crashes    = "r.example/agent:crashes"
	crashAfter = 2 * time.Second
)

// kubelet runs the commands of the pods in karmada-system of the member: the program that replaces an image, with the
// pod's arguments and environment, as its service account.
type kubelet struct {
	w      *world
	client kubernetes.Interface
	dir    string
	// images maps images to their command lines without arguments. An unknown image cannot be pulled.
	images map[string][]string

	mu   sync.Mutex
	pods map[types.UID]*process.Process
	// names are the names of the pods, and started the start times of their programs.
	names   map[types.UID]string
	started map[types.UID]time.Time
}

func (w *world) startKubelet(images map[string][]string) *kubelet {
	w.T.Helper()
	config, err := w.Config(member)
	w.G.Expect(err).NotTo(HaveOccurred())
	clientset, err := kubernetes.NewForConfig(config)
	w.G.Expect(err).NotTo(HaveOccurred())
	k := &kubelet{w: w, client: clientset, dir: w.T.TempDir(), images: images, pods: map[types.UID]*process.Process{}, names: map[types.UID]string{}, started: map[types.UID]time.Time{}}
	ctx, cancel := context.WithCancel(w.T.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, func(ctx context.Context) (bool, error) {
			if err := k.sync(ctx); err != nil && ctx.Err() == nil {
				w.T.Log("the kubelet of the test:", err)
			}
			return false, nil
		})
	}()
	w.T.Cleanup(func() {
		cancel()
		<-done
		k.kill("")
		if w.T.Failed() {
			logs, _ := filepath.Glob(filepath.Join(k.dir, "*.log"))
			for _, log := range logs {
				raw, _ := os.ReadFile(log)
				w.T.Log(log, string(raw))
			}
		}
	})
	return k
}

// kill kills the processes of pods whose names have a prefix, as kill -9 does.
func (k *kubelet) kill(prefix string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for uid, p := range k.pods {
		if strings.HasPrefix(k.names[uid], prefix) {
			p.Kill()
		}
	}
}

// pull makes an image available.
func (k *kubelet) pull(image string, command ...string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.images[image] = command
}

// sync starts programs of pods that do not run, and stops those whose pods are gone.
func (k *kubelet) sync(ctx context.Context) error {
	list, err := k.client.CoreV1().Pods("karmada-system").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	there := map[types.UID]bool{}
	for i := range list.Items {
		pod := &list.Items[i]
		command, pulled := k.images[pod.Spec.Containers[0].Image]
		if pod.DeletionTimestamp != nil || !pulled || !strings.HasPrefix(pod.Name, "fairlead-agent-") {
			continue
		}
		there[pod.UID] = true
		if p := k.pods[pod.UID]; p != nil && pod.Spec.Containers[0].Image == crashes && time.Since(k.started[pod.UID]) > crashAfter {
			p.Kill()
		}
		if p := k.pods[pod.UID]; p == nil || p.Ended() {
			if k.pods[pod.UID], err = k.start(ctx, pod, command); err != nil {
				return err
			}
			k.names[pod.UID], k.started[pod.UID] = pod.Name, time.Now()
		}
	}
	for uid, p := range k.pods {
		if !there[uid] {
			p.Kill()
			delete(k.pods, uid)
		}
	}
	return nil
}

func (k *kubelet) start(ctx context.Context, pod *corev1.Pod, command []string) (*process.Process, error) {
	token, err := k.client.CoreV1().ServiceAccounts(pod.Namespace).CreateToken(ctx, pod.Spec.ServiceAccountName, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	config, err := clientcmd.LoadFromFile(k.w.Kubeconfig(member))
	if err != nil {
		return nil, err
	}
	for _, user := range config.AuthInfos {
		user.ClientCertificateData, user.ClientKeyData, user.Token = nil, nil, token.Status.Token
	}
	dir := filepath.Join(k.dir, string(pod.UID))
	kubeconfig := dir + ".kubeconfig"
	if err := clientcmd.WriteToFile(*config, kubeconfig); err != nil {
		return nil, err
	}
	var args []string
	for _, e := range pod.Spec.Containers[0].Env {
		value := e.Value
		if e.ValueFrom != nil { // the only field used
			value = pod.Annotations["fairlead.dev/agent-upgrade"]
		}
		args = append(args, e.Name+"="+value)
	}
	args = append(args, command...)
	for _, arg := range pod.Spec.Containers[0].Args {
		if arg == ":10357" { // pods have their own IP addresses, these processes share one
			arg = "127.0.0.1:0"
		}
		args = append(args, strings.ReplaceAll(arg, "/var/lib/fairlead/agent", dir))
	}
	args = append(args, "--kubeconfig", kubeconfig)
	if pod.Spec.Containers[0].Args[0] == "run" {
		args = append(args, "--cluster-status-update-frequency", "1s")
	}
	return process.Start(process.Spec{Executable: "/usr/bin/env", Args: args, Log: filepath.Join(k.dir, pod.Name+".log")})
}

// installInside joins the member under a name, with an agent inside it that a kubelet runs.
func (w *world) installInside(t *testing.T, name string, images map[string][]string, flags ...string) *kubelet {
	t.Helper()
	k := w.startKubelet(images)
	out, err := w.agent(nil, append(append([]string{"join", "--install", "--kubeconfig", w.Kubeconfig(member)}, w.joinArguments(name)...), flags...)...)
	w.G.Expect(err).NotTo(HaveOccurred(), out)
	t.Cleanup(func() {
		k.kill("")
		_, err := w.Kubectl(context.Background(), member, "delete", "deployments,networkpolicies,persistentvolumeclaims,configmaps,secrets,serviceaccounts,roles,rolebindings,clusterroles,clusterrolebindings", "-n", "karmada-system", "-l", "app.kubernetes.io/name=fairlead-agent")
		w.G.Expect(err).NotTo(HaveOccurred())
	})
	return k
}
