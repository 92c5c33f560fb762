package contract

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// JoinGroupPrefix is followed by the id of a join. Every certificate of an agent carries this
// group of the join that it comes from, through all renewals, and it is the group that has the
// agent's rights: those of a join that ended belong to nobody any more.
const JoinGroupPrefix = "fairlead.dev:join:"

// JoinID returns the id of the join for which a key was made, given the key in DER as a
// certificate has it. So nobody can choose the id of another join.
func JoinID(publicKey []byte) string {
	const short = 16 // bytes of a hash that nobody finds again
	sum := sha256.Sum256(publicKey)
	return hex.EncodeToString(sum[:short])
}

// JoinGroup returns the group of a join.
func JoinGroup(id string) string { return JoinGroupPrefix + id }

// JoinOf returns the id of the join that is among groups; empty if there is none, or several.
func JoinOf(groups []string) string {
	found := ""
	for _, group := range groups {
		id, ok := strings.CutPrefix(group, JoinGroupPrefix)
		if !ok {
			continue
		}
		if found != "" {
			return ""
		}
		found = id
	}
	return found
}

// CertificateLifetimeSeconds is for how long an agent's certificate is asked for and issued, in seconds.
const CertificateLifetimeSeconds = 30 * 24 * 60 * 60

// CredentialIDKey is where an API server says, of a user, which certificate was presented, and
// CredentialIDPrefix begins what it says: the rest is Fingerprint of the certificate.
const (
	CredentialIDKey    = "authentication.kubernetes.io/credential-id"
	CredentialIDPrefix = "X509SHA256="
)

// Fingerprint returns the hash of a certificate in DER by which an API server names it.
func Fingerprint(certificate []byte) string {
	sum := sha256.Sum256(certificate)
	return hex.EncodeToString(sum[:])
}
