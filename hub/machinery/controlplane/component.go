package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	_ "time/tzdata" // time zones of CronJobs

	"go.etcd.io/etcd/server/v3/etcdmain"

	"k8s.io/client-go/kubernetes"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // credential plugins in kubectl
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	_ "k8s.io/component-base/logs/json/register"          // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // metrics of client-go
	_ "k8s.io/component-base/metrics/prometheus/version"  // kubernetes_build_info
	kubectlcmd "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	"k8s.io/utils/clock"

	"fairlead.dev/hub/machinery/controlplane/args"
	"fairlead.dev/hub/machinery/controlplane/kubelet"
	"fairlead.dev/hub/machinery/controlplane/kwok"
)

// component returns the main function of the component with a name, which reads os.Args and returns the exit status;
// nil if there is none.
func component(name string) func() int {
	switch name {
	case "etcd":
		return etcd
	case "kube-apiserver":
		return func() int { return cli.Run(newAPIServer()) }
	case "kube-controller-manager":
		return func() int { return cli.Run(controllermanager.NewControllerManagerCommand()) }
	case "kube-scheduler":
		return func() int { return cli.Run(scheduler.NewSchedulerCommand()) }
	case "kwok":
		return nodes
	case args.KubeletName:
		return kubelets
	case "kubectl":
		return kubectl
	default:
		return nil
	}
}

func etcd() int {
	etcdmain.Main(os.Args)
	return 0
}

func nodes() int {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: controlplane kwok KUBECONFIG")
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := kwok.Run(ctx, os.Args[1], os.Stderr); err != nil {
		fmt.Fprintf(os.Stderr, "kwok: %v\n", err)
		return 1
	}
	return 0
}

// kubelets runs the kubelet API.
func kubelets() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := runKubelets(ctx, os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "kubelet: %v\n", err)
		return 1
	}
	return 0
}

func runKubelets(ctx context.Context, line []string) error {
	if len(line) != 5 {
		return errors.New("usage: controlplane kubelet KUBECONFIG CERTIFICATE KEY CLIENT-CA DIR")
	}
	config, err := clientcmd.BuildConfigFromFlags("", line[0])
	if err != nil {
		return fmt.Errorf("reading kubeconfig %q: %w", line[0], err)
	}
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	dir, err := filepath.Abs(line[4])
	if err != nil {
		return fmt.Errorf("resolving %q: %w", line[4], err)
	}
	return kubelet.Run(ctx, kubelet.Options{
		CertFile: line[1], KeyFile: line[2], ClientCAFile: line[3], Dir: dir, API: api, Clock: clock.RealClock{}, Logs: os.Stderr,
	})
}

func kubectl() int {
	// The command logs while it is constructed, before it has parsed its flags.
	if _, err := logs.GlogSetter(kubectlcmd.GetLogVerbosity(os.Args)); err != nil {
		fmt.Fprintf(os.Stderr, "kubectl: %v\n", err)
		return 1
	}
	if err := cli.RunNoErrOutput(kubectlcmd.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err) // prints errors like kubectl, and exits
	}
	return 0
}
