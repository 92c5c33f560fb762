package discovery

import (
	"fmt"
	"slices"
	"strings"

	bootstrapapi "k8s.io/cluster-bootstrap/token/api"
	"k8s.io/cluster-bootstrap/token/jws"

	"sigs.k8s.io/yaml"

	"fairlead.dev/common/bootstrap"
)

// kubeconfig is the part of a kubeconfig that cluster-info has.
type kubeconfig struct {
	Clusters []struct {
		Cluster struct {
			CAData []byte `json:"certificate-authority-data"`
		} `json:"cluster"`
	} `json:"clusters"`
}

// Verify returns the hub's certificate authority from the data of cluster-info, if cluster-info is signed with the
// token and the authority is pinned.
func Verify(p Parameters, data map[string]string) ([]byte, error) {
	signed, ok := data[bootstrapapi.KubeConfigKey]
	if !ok || strings.TrimSpace(signed) == "" {
		return nil, fmt.Errorf("%w: the cluster-info of %s is empty; the hub may still be starting, or the address may be wrong", ErrNotAHub, p.Server)
	}
	signature, ok := data[bootstrapapi.JWSSignatureKeyPrefix+p.TokenID]
	if !ok || signature == "" {
		return nil, fmt.Errorf("%w: token %s was not made on %s, has expired, was used some time ago or was deleted; make another with `hub token create --cluster %s`",
			ErrTokenUnknown, p.TokenID, p.Server, p.Cluster)
	}
	if !jws.DetachedTokenIsValid(signature, signed, p.TokenID, p.TokenSecret) {
		return nil, fmt.Errorf("%w: token %s has another secret on %s; copy the whole token that `hub token create` printed",
			ErrTokenSecret, p.TokenID, p.Server)
	}
	ca, err := Authorities(p.Server, data)
	if err != nil {
		return nil, err
	}
	if err := verifyPins(p, ca); err != nil {
		return nil, err
	}
	return ca, nil
}

// Authorities reads the certificate authorities from the data of cluster-info, which must be trusted already. There
// are several while the hub exchanges its authority.
func Authorities(server string, data map[string]string) ([]byte, error) {
	var config kubeconfig
	if err := yaml.Unmarshal([]byte(data[bootstrapapi.KubeConfigKey]), &config); err != nil {
		return nil, fmt.Errorf("%w: the kubeconfig in the cluster-info of %s is damaged (%w)", ErrNotAHub, server, err)
	}
	if len(config.Clusters) != 1 || len(config.Clusters[0].Cluster.CAData) == 0 {
		return nil, fmt.Errorf("%w: the kubeconfig in the cluster-info of %s must have one cluster with its certificate authority", ErrNotAHub, server)
	}
	return config.Clusters[0].Cluster.CAData, nil
}

// Servers reads the addresses of the API's hubs from the data of cluster-info, which must have come over a verified
// connection. Malformed addresses are skipped.
func Servers(data map[string]string) []string {
	var out []string
	for line := range strings.FieldsSeq(data[bootstrap.ServersKey]) {
		if server, err := parseAddress(line); err == nil && !slices.Contains(out, server) {
			out = append(out, server)
		}
	}
	return out
}

func verifyPins(p Parameters, ca []byte) error {
	hashes, err := bootstrap.CAHash(ca)
	if err != nil {
		return fmt.Errorf("%w: the certificate authority in the cluster-info of %s is damaged (%w)", ErrNotAHub, p.Server, err)
	}
	if len(p.Pins) == 0 {
		return nil
	}
	if err := bootstrap.VerifyCAHash(ca, p.Pins); err != nil {
		return fmt.Errorf("%w: expected a certificate authority with hash %s, got %s from %s; "+
			"copy the hash that `hub token create` printed; if it is right, something else answers in place of the hub",
			ErrCAMismatch, strings.Join(p.Pins, " or "), strings.Join(hashes, " and "), p.Server)
	}
	return nil
}

// Same checks that the hub gave the same answer over the verified connection as before. If it did not, the first
// answer was not the hub's.
func Same(p Parameters, first, second map[string]string) error {
	if first[bootstrapapi.KubeConfigKey] != second[bootstrapapi.KubeConfigKey] {
		return fmt.Errorf("%w: %s gave two different answers, so somebody may be in between; try again, and if this does not change, do not join from here",
			ErrCAMismatch, p.Server)
	}
	return nil
}
