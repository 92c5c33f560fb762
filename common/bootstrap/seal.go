package bootstrap

import (
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/hpke"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

// An agent whose certificate ended while it was off still has the key of that certificate.
// The hub knows the public half of it. So a token for this agent can lie in the open,
// sealed with the key: nobody else can read it, and no secret is shared beforehand.

// ServersKey is the key in cluster-info below which the URLs of all hubs of the API are, one a line. It is not signed, so it is
// believed over verified connections only.
const ServersKey = "hub-servers"

// RejoinName is the name of the ConfigMap, in the namespace of cluster-info, in which sealed
// tokens lie. Everybody may read it.
const RejoinName = "fairlead-rejoin"

// RejoinToken is a token that waits for its agent.
type RejoinToken struct {
	// Sealed is the token, which only the agent can open.
	Sealed []byte `json:"sealed"`
	// Expires is when it is of no use any more.
	Expires time.Time `json:"expires"`
}

// purpose keeps what is sealed here from being taken for anything else.
const purpose = "fairlead.dev rejoin"

// RejoinKey returns under which key of the ConfigMap the token for the holder of a key is.
// The key is a point of the curve P-256.
func RejoinKey(public []byte) string {
	sum := sha256.Sum256(public)
	return hex.EncodeToString(sum[:])
}

// Seal returns the value of the ConfigMap that calls the holder of a key.
func Seal(public []byte, token Token) (string, error) {
	point, err := ecdh.P256().NewPublicKey(public)
	if err != nil {
		return "", fmt.Errorf("reading the key of the agent: %w", err)
	}
	recipient, err := hpke.NewDHKEMPublicKey(point)
	if err != nil {
		return "", fmt.Errorf("reading the key of the agent: %w", err)
	}
	sealed, err := hpke.Seal(recipient, hpke.HKDFSHA256(), hpke.AES256GCM(), []byte(purpose), []byte(token.String()))
	if err != nil {
		return "", fmt.Errorf("sealing the token: %w", err)
	}
	return encode(RejoinToken{Sealed: sealed, Expires: token.Expires}), nil
}

// ParseRejoinToken reads a value of the ConfigMap.
func ParseRejoinToken(raw string) (RejoinToken, error) {
	var out RejoinToken
	if err := json.Unmarshal([]byte(raw), &out); err != nil {
		return RejoinToken{}, fmt.Errorf("reading a rejoin token: %w", err)
	}
	return out, nil
}

// Open returns the token for the holder of a key, as its holder writes it.
func (c RejoinToken) Open(key *ecdsa.PrivateKey) (string, error) {
	private, err := key.ECDH()
	if err != nil {
		return "", fmt.Errorf("using the agent's key: %w", err)
	}
	recipient, err := hpke.NewDHKEMPrivateKey(private)
	if err != nil {
		return "", fmt.Errorf("using the agent's key: %w", err)
	}
	token, err := hpke.Open(recipient, hpke.HKDFSHA256(), hpke.AES256GCM(), []byte(purpose), c.Sealed)
	if err != nil {
		return "", fmt.Errorf("opening the token: %w", err)
	}
	return string(token), nil
}
