package store

import (
	"encoding/json"
	"testing"
)

func TestSettings(t *testing.T) {
	for _, c := range []struct{ text, head, json string }{
		{"family=loops,block=0x64x0,threads=2", "", `{"family":"loops","block":"0x64x0","threads":2}`},
		{"heat[0:1]@1{family=cells,vec=2}", "heat[0:1]@1", `{"family":"cells","vec":2}`},
		{"a[0:1]@1{x=1,y=2};b[0:1]@1{x=1}", "", `{"a[0:1]@1/x":1,"a[0:1]@1/y":2,"b[0:1]@1/x":1}`},
		{"threads=2;a[0:1]@1{x=1};b[0:1]@1{x=1}", "", `{"threads":2,"a[0:1]@1/x":1,"b[0:1]@1/x":1}`},
		{"x=-1.5,y=007,z=-", "", `{"x":-1.5,"y":"007","z":"-"}`},
	} {
		list, head := split(c.text)
		text, err := json.Marshal(list)
		if err != nil || string(text) != c.json || head != c.head {
			t.Errorf("%s is %s of %q, %v", c.text, text, head, err)
		}
		var back settings
		if err := json.Unmarshal(text, &back); err != nil || back.join(head) != c.text {
			t.Errorf("%s came back as %s, %v", c.text, back.join(head), err)
		}
	}
}
