package args

import (
	"strconv"
	"strings"
	"time"
)

// How soon the controllers of another hub work after those of one that was killed: the same as for the hub's own.
const (
	electionLease = 12 * time.Second
	electionRenew = 8 * time.Second
	electionRetry = 2 * time.Second
)

// hubControllers lists what a hub needs of the built-in controllers. None of them acts on workloads.
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

// clusterControllers takes the default set without what needs a cloud, disks or a kubelet.
func clusterControllers() []string {
	return []string{
		"*",
		"-node-ipam-controller",
		"-persistentvolume-attach-detach-controller",
		"-persistentvolume-expander-controller",
	}
}

// ControllerManager renders the command line of kube-controller-manager. It serves nothing: its default port could be
// taken by another control plane of the same machine.
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
		// Of several hubs on one etcd the controllers of one work; alone there is nobody to ask.
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
		// The defaults, 20 and 30, would make deleting a namespace or rolling out a few deployments wait for tokens.
		"--kube-api-qps=300",
		"--kube-api-burst=600",
	}
	if in.Profile == Cluster {
		out = append(out,
			// A busy machine that is late with heartbeats is no reason to evict pods.
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

// KWOK renders the command line of the component that plays the kubelets.
func KWOK(in Input) []string {
	return []string{"kwok", in.Kubeconfig("kwok")}
}

// KubeletName is the component that answers what kube-apiserver asks kubelets.
const KubeletName = "kubelet"

// Kubelet renders the command line of that component, whose files are below the working directory.
func Kubelet(in Input) []string {
	p := in.PKI
	return []string{KubeletName, in.Kubeconfig("kwok"), p.KubeletCertFile(), p.KubeletKeyFile(), p.CAFile(), "pods"}
}
