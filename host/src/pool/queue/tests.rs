//! Turns and places, without threads.

use super::*;

/// A queue whose tenants wait with so many calls each, in this order of arrival. No place is shared.
fn waiting(running: usize, tenants: &[(&str, usize)]) -> Queue {
    let limits = TenantLimits { running: 1, ..TenantLimits::default() };
    let config = PoolConfig { running, limits, ..PoolConfig::default() };
    let queue = Queue::new(config, Sandbox::shared().expect("a sandbox"));
    for &(name, calls) in tenants {
        let name = Arc::from(name);
        let mut state = queue.lock();
        state.most_running = running;
        for _ in 0..calls {
            let turn = Arc::new(Turn::new(Arc::clone(&name), None));
            queue.known(&mut state, &name).expect("known");
            state.list(&name, |waiting| waiting.push_back(turn));
        }
    }
    queue
}

/// The next calls that are admitted while those before them run.
fn admit(queue: &Queue) -> Vec<Arc<Turn>> {
    queue.lock().admit_next()
}

fn names(turns: &[Arc<Turn>]) -> String {
    turns.iter().map(|turn| &*turn.tenant).collect()
}

#[test]
fn tenants_take_turns_whatever_the_number_of_their_calls() {
    let queue = waiting(1, &[("a", 100), ("b", 2), ("c", 1)]);
    let mut order = String::new();
    for _ in 0..6 {
        let admitted = admit(&queue);
        order += &names(&admitted);
        admitted.iter().for_each(|turn| queue.lock().stop_running(turn));
    }
    assert_eq!(order, "abcaba");
}

#[test]
fn a_tenant_that_runs_all_it_may_is_passed_over_and_not_forgotten() {
    let queue = waiting(3, &[("a", 3), ("b", 2)]);
    let first = admit(&queue);
    assert_eq!(names(&first), "ab", "each may run one");
    assert_eq!(admit(&queue).len(), 0);
    queue.lock().stop_running(&first[0]);
    let second = admit(&queue);
    assert_eq!(names(&second), "a");
    queue.lock().stop_running(&first[1]);
    assert_eq!(names(&admit(&queue)), "b");
    queue.lock().stop_running(&second[0]);
    assert_eq!(names(&admit(&queue)), "a");
    assert!(queue.lock().ring.is_empty());
}

#[test]
fn only_the_call_of_a_much_heavier_tenant_gives_its_place() {
    let queue = waiting(2, &[("heavy", 1), ("light", 1), ("new", 1)]);
    let running = admit(&queue);
    let mut state = queue.lock();
    let now = Instant::now();
    assert!(!state.take_place(&"new".into(), now), "both have just begun");
    state.tenants.get_mut("heavy").expect("known").load.add(Duration::from_millis(50), now);
    assert!(!state.take_place(&"heavy".into(), now), "not to itself, and not the lighter one");
    assert!(state.take_place(&"new".into(), now));
    assert_eq!([running[0].gives_way(), running[1].gives_way()], [true, false]);
    assert_eq!((state.running.len(), state.leaving.len()), (1, 1));
    assert!(!state.take_place(&"new".into(), now), "once is enough");
    state.stop_running(&running[0]);
    assert_eq!((state.running.len(), state.leaving.len()), (1, 0));
    assert_eq!(state.tenants["heavy"].running, 0);
}

#[test]
fn what_becomes_heavy_while_another_waits_gives_its_place_at_a_tick() {
    let queue = waiting(1, &[("heavy", 1), ("new", 2)]);
    let running = admit(&queue);
    assert_eq!(names(&running), "heavy");
    // It is not heavier than by 2 ms yet.
    assert!(queue.lock().take_places(Instant::now() - Duration::from_secs(1)).is_empty());
    thread::sleep(Duration::from_millis(5));
    queue.look();
    assert!(running[0].gives_way());
    let state = queue.lock();
    assert_eq!((state.running.len(), state.leaving.len(), state.tenants["new"].running), (1, 1, 1));
    assert_eq!((state.tenants["new"].waiting.len(), state.ring.len()), (1, 1));
}

#[test]
fn no_place_is_taken_while_too_many_calls_stand_still() {
    let queue = waiting(1, &[("heavy", 1), ("new", 1)]);
    let running = admit(&queue);
    let mut state = queue.lock();
    state.tenants.get_mut("heavy").expect("known").load.add(Duration::from_secs(1), Instant::now());
    state.most_standing = 1;
    state.standing = 1;
    assert!(state.take_places(Instant::now()).is_empty());
    assert!(!running[0].gives_way());
    state.standing = 0;
    assert_eq!(names(&state.take_places(Instant::now())), "new");
}

#[test]
fn short_calls_share_places_until_one_is_not_short() {
    let queue = waiting(1, &[("a", 1), ("b", 1), ("c", 1)]);
    queue.lock().most_running = 2;
    let running = admit(&queue);
    assert_eq!(names(&running), "ab", "two share the place, the third waits");
    queue.lock().clear_places(Instant::now());
    assert!(!running.iter().any(|turn| turn.gives_way()), "both are short");
    let later = Instant::now() + Duration::from_millis(5);
    let mut state = queue.lock();
    state.tenants.get_mut("b").expect("known").load.add(Duration::from_millis(1), later);
    state.clear_places(later);
    assert_eq!([running[0].gives_way(), running[1].gives_way()], [false, true], "as many as have places go on");
    // It stands still, and is not let in again where it would share.
    running[1].suspend();
    state.stop_running(&running[1]);
    state.list(&"b".into(), |waiting| waiting.push_front(running[1].clone()));
    assert_eq!(names(&state.admit_next()), "c");
    state.stop_running(&running[0]);
    assert_eq!(state.admit_next().len(), 0, "c has the place");
    let c = state.tenants["c"].running;
    assert_eq!(c, 1);
}
