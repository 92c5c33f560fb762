package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // time zones of CronJobs

	"go.etcd.io/etcd/server/v3/etcdmain"

	_ "k8s.io/client-go/plugin/pkg/client/auth" // credential plugins in kubectl
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	_ "k8s.io/component-base/logs/json/register"          // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // metrics of client-go
	_ "k8s.io/component-base/metrics/prometheus/version"  // kubernetes_build_info
	kubectlcmd "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"

	"fairlead.dev/hub/machinery/controlplane/kwok"
)

// component returns the program with that name, which takes its arguments from os.Args and returns its exit status, or
// nil when there is none.
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

func kubelets() int {
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

func kubectl() int {
	// The command logs while it is being put together, before it has parsed its flags.
	if _, err := logs.GlogSetter(kubectlcmd.GetLogVerbosity(os.Args)); err != nil {
		fmt.Fprintf(os.Stderr, "kubectl: %v\n", err)
		return 1
	}
	if err := cli.RunNoErrOutput(kubectlcmd.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err) // prints what kubectl prints, and exits
	}
	return 0
}
