package args

import (
	"strconv"
	"strings"
	"time"
)

// The timing of the controllers' leader election, which is the same as for the hub.
const (
	electionLease = 12 * time.Second
	electionRenew = 8 * time.Second
	electionRetry = 2 * time.Second
)

// hubControllers lists the built-in controllers that a hub needs. None of them acts on workloads.
func hubControllers() []string {
	return []string{
		"bootstrap-signer-controller",
		"certificatesigningrequest-cleaner-controller",
		"certificatesigningrequest-signing-controller",
		"clusterrole-aggregation-controller",
		"garbage-collector-controller",
		"namespace-controller",
		"serviceaccount-token-controller",
		"token-cleaner-controller",
		"ttl-after-finished-controller",
	}
}

// clusterControllers is the default set without those that need a cloud, disks or a kubelet.
func clusterControllers() []string {
	return []string{
		"*",
		"-node-ipam-controller",
		"-persistentvolume-attach-detach-controller",
		"-persistentvolume-expander-controller",
	}
}

// ControllerManager renders the command line of kube-controller-manager. It serves nothing: its default port could be
// in use by another control plane on the machine.
func ControllerManager(in Input) []string {
	p := in.PKI
	controllers := hubControllers()
	if in.Profile == Cluster {
		controllers = clusterControllers()
	}
	out := []string{
		"kube-controller-manager",
		"--kubeconfig=" + in.Kubeconfig("kube-controller-manager"),
		"--controllers=" + strings.Join(controllers, ","),
		// Of several hubs on one etcd, the controllers of one work; a single hub needs no election.
		"--leader-elect=" + strconv.FormatBool(in.ExternalEtcd.Used()),
		"--leader-elect-lease-duration=" + electionLease.String(),
		"--leader-elect-renew-deadline=" + electionRenew.String(),
		"--leader-elect-retry-period=" + electionRetry.String(),
		"--secure-port=0",
		"--profiling=false",
		"--use-service-account-credentials=true",
		"--service-account-private-key-file=" + p.ServiceAccountKeyFile(),
		"--root-ca-file=" + p.CAFile(),
		"--cluster-signing-cert-file=" + p.SigningCertFile(),
		"--cluster-signing-key-file=" + p.SigningKeyFile(),
		// With the defaults, 20 and 30, deleting a namespace or rolling out a few Deployments would wait for the rate
		// limiter.
		"--kube-api-qps=300",
		"--kube-api-burst=600",
	}
	if in.Profile == Cluster {
		out = append(out,
			// Late heartbeats on a busy machine must not evict pods.
			"--node-monitor-grace-period=5m",
		)
	}
	return out
}

// Scheduler renders the command line of kube-scheduler.
func Scheduler(in Input) []string {
	return []string{
		"kube-scheduler",
		"--kubeconfig=" + in.Kubeconfig("kube-scheduler"),
		"--leader-elect=false",
		"--secure-port=0",
		"--profiling=false",
		"--kube-api-qps=300",
		"--kube-api-burst=600",
	}
}

// KWOK renders the command line of the component that simulates kubelets.
func KWOK(in Input) []string {
	return []string{"kwok", in.Kubeconfig("kwok")}
}

// KubeletName is the component that serves the kubelet API for kube-apiserver.
const KubeletName = "kubelet"

// Kubelet renders the command line of that component, whose files are in the working directory.
func Kubelet(in Input) []string {
	p := in.PKI
	return []string{KubeletName, in.Kubeconfig("kwok"), p.KubeletCertFile(), p.KubeletKeyFile(), p.CAFile(), "pods"}
}
