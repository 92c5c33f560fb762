package args

// Etcd renders the command line of etcd, which listens on unix sockets only: whoever may open the working directory is
// the one who started the control plane.
func Etcd(in Input) []string {
	out := []string{
		"etcd",
		"--name=etcd",
		"--data-dir=" + in.EtcdDir,
		"--listen-client-urls=" + etcdClientURL,
		"--advertise-client-urls=" + etcdClientURL,
		"--listen-peer-urls=" + etcdPeerURL,
		"--initial-advertise-peer-urls=" + etcdPeerURL,
		"--initial-cluster=etcd=" + etcdPeerURL,
		"--quota-backend-bytes=8589934592",
		// One member replays its log alone, so a shorter log costs nothing and keeps memory and start-up small.
		"--snapshot-count=5000",
		"--log-level=info",
	}
	if in.UnsafeNoFsync {
		out = append(out, "--unsafe-no-fsync")
	}
	return out
}
