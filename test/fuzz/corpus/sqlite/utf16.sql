PRAGMA page_size=512;
PRAGMA encoding='UTF-16';
PRAGMA application_id=1953853027;
PRAGMA user_version=1;
CREATE TABLE lines( seq INTEGER PRIMARY KEY, op TEXT, target TEXT, kind TEXT NOT NULL, line TEXT NOT NULL);
CREATE INDEX lines_by_op ON lines(op, target, kind);
INSERT INTO lines(op,target,kind,line) VALUES('7a4a15184e7f5f759d545231996ec162e42b7960b8379df36982eeb013e46d1e','llvm -mtriple=x86_64-pc-linux-gnu -mcpu=znver4 -mattr= -threads=2','trial','{"tunec":1,"kind":"trial","at":"2026-11-22T00:39:25.996Z","id":"f01af95272297f83","op":"7a4a15184e7f5f759d545231996ec162e42b7960b8379df36982eeb013e46d1e","op_text":"","name":"mm","case":"x","target":"llvm -mtriple=x86_64-pc-linux-gnu -mcpu=znver4 -mattr= -threads=2","trace":[{"step":"parallel","args":["d0.a0"]}],"outcome":"ok","error":null,"time_s":1.2300299999878916e-05,"spread_s":3.3803293331402526e-08,"runs_s":[1.1978800012002467e-05,1.2015199990855762e-05],"regime":{"cache":"warm","threads":2,"pinning":"cores"},"round":"search","verified":null,"machine":null,"by":{"tunec":"0.1.0","compiler":"llvm","search":"sa","seed":3,"trial":1,"run":"03464b59da2c9913"}}');
