package args

import (
	"net/netip"
	"strconv"
	"strings"

	"fairlead.dev/hub/machinery/controlplane/pki"
)

// hubDisabledAdmission lists the plugins that would change, reject or hold back an object on a hub for reasons that
// apply in the cluster where it runs. A template is stored as its author wrote it.
func hubDisabledAdmission() []string {
	return []string{
		// They reject objects that refer to something that only members have.
		"LimitRanger", "PersistentVolumeClaimResize", "Priority", "ResourceQuota", "RuntimeClass", "ServiceAccount",
		// They write defaults of the hub into templates.
		"DefaultIngressClass", "DefaultStorageClass", "DefaultTolerationSeconds", "PodTopologyLabels", "TaintNodesByCondition",
		// They add finalizers that no controller on a hub would remove.
		"PodGroupProtection", "StorageObjectInUseProtection",
	}
}

// ProxiedUserHeader is the header in which a trusted proxy names the user.
const ProxiedUserHeader = "X-Remote-User"

// Additional flags of our kube-apiserver.
const (
	HeapFlag    = "heap-room"
	PrivateFlag = "private-listener"
	OpenFlag    = "open-file"
)

// PrivateFile is the descriptor of the first file that a component inherits.
const PrivateFile = 3

// APIServer renders the command line of kube-apiserver.
func APIServer(in Input) []string {
	p := in.PKI
	out := []string{
		"kube-apiserver",
		"--bind-address=" + in.BindAddress,
		"--secure-port=" + strconv.Itoa(in.Port),
		"--advertise-address=" + advertiseAddress(in),
		"--external-hostname=" + in.AdvertiseHost,
		// Nothing routes to the Service "kubernetes", and its endpoints may not be loopback addresses.
		"--endpoint-reconciler-type=none",
		"--service-cluster-ip-range=" + in.ServiceCIDR.Masked().String(),

		"--tls-cert-file=" + p.ServingCertFile(),
		"--tls-private-key-file=" + p.ServingKeyFile(),
		"--client-ca-file=" + p.CAFile(),
		"--requestheader-client-ca-file=" + p.FrontProxyCAFile(),
		"--requestheader-allowed-names=" + pki.FrontProxyName,
		"--requestheader-username-headers=" + ProxiedUserHeader,
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + p.FrontProxyCertFile(),
		"--proxy-client-key-file=" + p.FrontProxyKeyFile(),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-signing-key-file=" + p.ServiceAccountKeyFile(),
		"--service-account-key-file=" + p.ServiceAccountPublicKeyFile(),

		"--authorization-mode=RBAC",
		"--enable-bootstrap-token-auth=true",
		"--allow-privileged=true",
		"--profiling=" + strconv.FormatBool(in.Profiling),

		// End watches and connections within moments of SIGTERM; the default is a minute.
		"--shutdown-send-retry-after=true",
		"--shutdown-watch-termination-grace-period=1s",
	}
	out = append(out, etcdClient(in.ExternalEtcd)...)
	if in.HeapRoom > 0 {
		out = append(out, "--"+HeapFlag+"="+strconv.FormatInt(in.HeapRoom, 10))
	}
	if in.PrivatePort > 0 {
		out = append(out, "--"+PrivateFlag+"="+strconv.Itoa(PrivateFile), "--"+OpenFlag+"="+OpenFile)
	}
	out = append(out, auditLog(in.Audit)...)
	out = append(out, in.Authentication...)
	if in.EncryptionConfig != "" {
		out = append(out, "--encryption-provider-config="+in.EncryptionConfig)
	}
	if in.UnsafeExec {
		out = append(out, kubeletClient(p)...)
	}
	if in.Profile == Hub {
		out = append(out,
			"--disable-admission-plugins="+strings.Join(hubDisabledAdmission(), ","),
			// Every agent holds a few watches and reports in bursts, and after an outage all do at once.
			"--max-requests-inflight=1600",
			"--max-mutating-requests-inflight=800",
		)
	}
	return out
}

// auditLog returns the flags of the audit log; none if there is no log.
func auditLog(a Audit) []string {
	if a.LogPath == "" {
		return nil
	}
	out := []string{
		"--audit-policy-file=" + a.PolicyFile,
		"--audit-log-path=" + a.LogPath,
		"--audit-log-maxage=" + strconv.Itoa(a.MaxAge),
		"--audit-log-maxbackup=" + strconv.Itoa(a.MaxBackup),
		"--audit-log-maxsize=" + strconv.Itoa(a.MaxSize),
	}
	if a.WebhookConfigFile != "" {
		out = append(out, "--audit-webhook-config-file="+a.WebhookConfigFile)
	}
	return out
}

// kubeletClient returns the flags with which kube-apiserver reaches kubelets.
func kubeletClient(p *pki.Bundle) []string {
	return []string{
		"--kubelet-certificate-authority=" + p.CAFile(),
		"--kubelet-client-certificate=" + p.KubeletClientCertFile(),
		"--kubelet-client-key=" + p.KubeletClientKeyFile(),
		"--kubelet-preferred-address-types=InternalIP",
	}
}

// etcdClient returns the flags with which kube-apiserver reaches its database.
func etcdClient(e ExternalEtcd) []string {
	if !e.Used() {
		return []string{"--etcd-servers=" + etcdClientURL}
	}
	out := []string{
		"--etcd-servers=" + strings.Join(e.Servers, ","),
		"--etcd-prefix=" + e.Prefix,
		// A member that is gone is noticed within seconds, and pending requests go to another one.
		"--etcd-healthcheck-timeout=2s",
		"--etcd-readycheck-timeout=2s",
	}
	for _, given := range []struct{ flag, file string }{{"etcd-cafile", e.CAFile}, {"etcd-certfile", e.CertFile}, {"etcd-keyfile", e.KeyFile}} {
		if given.file != "" {
			out = append(out, "--"+given.flag+"="+given.file)
		}
	}
	return out
}

// advertiseAddress returns an address even without a network: otherwise kube-apiserver looks for a default route, and
// refuses to start without one.
func advertiseAddress(in Input) string {
	for _, host := range []string{in.AdvertiseHost, in.BindAddress} {
		if ip, err := netip.ParseAddr(host); err == nil && !ip.IsUnspecified() {
			return host
		}
	}
	return in.LocalHost()
}
